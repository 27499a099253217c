//! The sources that the receives of one execution could have had.

use serde::{Deserialize, Serialize};

use crate::data::place::Place;

/// A step of the execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedStep {
    /// Name of the thread.
    pub thread: String,
    /// Description, such as `store 1 to ready`.
    pub what: String,
    /// Place of the operation.
    pub place: Option<Place>,
}

/// A possible source of a receive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedSource {
    /// Description, such as `store 1 to ready by producer` or `the initial value`.
    pub what: String,
    /// Place of the send.
    pub place: Option<Place>,
    /// True for the source that it had.
    pub is_seen: bool,
    /// True when the analysis gave up: only a run shows whether it is possible.
    pub is_undecided: bool,
    /// The alternative, as `directed: ...` takes it; equal for the same choice in another version of the program.
    pub alternative: Option<String>,
}

/// A receive with its possible sources.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedReceive {
    /// The receive.
    pub step: ListedStep,
    /// Its sources, at least one.
    pub sources: Vec<ListedSource>,
}

/// What one execution shows about others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListedAlternatives {
    /// Its receives, in the order of the execution.
    pub receives: Vec<ListedReceive>,
    /// Stores that no read takes in this execution.
    pub unread: Vec<ListedStep>,
    /// The write whose steps were asked for, if it is in the execution, and the steps that it depends on.
    pub steps: Option<Vec<ListedStep>>,
    /// True when the execution is too long: only its last receives were looked at.
    pub is_cut: bool,
}
