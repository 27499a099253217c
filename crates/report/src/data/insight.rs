//! Details of a failure besides its trace: the execution before minimisation, the critical pair,
//! the alternatives of each receive and the source lines to highlight.

use serde::{Deserialize, Serialize};

use crate::data::failure::FailureKind;
use crate::data::place::Place;
use crate::data::trace::Trace;

/// An execution other than the one in the failure's trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedExecution {
    /// Its steps.
    pub trace: Trace,
    /// Its schedule, in text form.
    pub schedule: String,
    /// Number of its preemptions: switches away from a thread that could have continued.
    pub preemptions: u32,
}

/// Result of minimising the execution in which a failure was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Minimised {
    /// Preemptions of the original execution.
    pub preemptions_before: u32,
    /// Preemptions of the minimised execution.
    pub preemptions_after: u32,
    /// Events of the original execution, up to its end.
    pub events_before: usize,
    /// Events of the minimised execution, up to the failure.
    pub events_after: usize,
    /// Number of runs of the program during minimisation.
    pub runs: u64,
    /// True when every class with fewer preemptions was run and none fails in the same way. Only
    /// executions under sequential consistency are compared, if the minimised one has no stale
    /// read. A thread that spins counts as waiting.
    pub is_minimal: bool,
}

/// Two steps whose order decides the failure of the execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CriticalPair {
    /// The first step, as an index into the trace.
    pub first: usize,
    /// The second step, which comes first in passing executions; `None` if the trace ends before
    /// it, for instance with a panic.
    pub second: Option<usize>,
    /// Consequence of their order, in one sentence. It begins with `fails when` if the pair is about the
    /// failure, otherwise with `also passes when`.
    pub why: String,
    /// True when the pair is about the failure: the failing events depend on the order of the two
    /// steps, through program order and reads-from. That order is not only a side effect of
    /// another. False when exchanging the two removes the failure, but does not explain it.
    pub is_about: bool,
}

/// A receive with more than one possible source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Receive {
    /// Index into the steps of the trace.
    pub step: usize,
    /// Its actual source and all alternatives.
    pub sources: Vec<Source>,
}

/// A possible source of a receive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Description, such as `store 1 to ready by producer` or `the initial value`.
    pub what: String,
    /// The step of that send, if it is in the trace.
    pub step: Option<usize>,
    /// True for the actual source.
    pub is_seen: bool,
    /// Command that runs the execution with this source.
    pub command: Option<String>,
}

/// A source line that a failure is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The place.
    pub place: Place,
    /// Description of the operation there.
    pub what: String,
    /// True for the place of the failure, false for places of its causes.
    pub is_primary: bool,
}

/// A race in a block or of variables that belong together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Race {
    /// `BlockRace`, `MultiDataRace` or `MultiDataBlockRace`.
    pub kind: FailureKind,
    /// The name of the block, if it has one.
    pub block: Option<String>,
    /// The name of the declared set of variables, if there is one.
    pub set: Option<String>,
    /// The accesses that make it, in an order in which it shows.
    pub accesses: Vec<RaceAccess>,
}

/// One access of a race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RaceAccess {
    /// Name or path of the thread.
    pub thread: String,
    /// Name of the variable.
    pub variable: String,
    /// True for a write.
    pub writes: bool,
    /// True if it is in the block that is interfered with.
    pub in_block: bool,
    /// Its place in the source.
    pub place: Option<Place>,
}

/// A thread that waits at the end of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Index into the threads of the trace.
    pub thread: usize,
    /// Name of the object or event that it waits for.
    pub what: String,
    /// Place of the waiting operation.
    pub place: Option<Place>,
    /// The thread that could end the wait but waits as well, as an index into the threads of the
    /// trace.
    pub on: Option<usize>,
    /// Place where that thread acquired the object.
    pub taken: Option<Place>,
}
