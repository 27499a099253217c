//! What is known of a failure besides its story: what it was before it was shortened, what decides
//! it, what could have happened instead, and which lines are to blame.

use serde::Serialize;

use crate::data::place::Place;
use crate::data::trace::Trace;

/// Another execution than the one that is told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Told {
    /// What happened.
    pub trace: Trace,
    /// As the text of a schedule.
    pub schedule: String,
    /// How often another thread went on although the one that ran could have.
    pub preemptions: u32,
}

/// How the execution that was found became the one that is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Minimised {
    /// Preemptions of the execution as it was found.
    pub preemptions_before: u32,
    /// Preemptions of the one that is told.
    pub preemptions_after: u32,
    /// Events of the execution as it was found, to its end.
    pub events_before: usize,
    /// Events of the one that is told, up to what goes wrong.
    pub events_after: usize,
    /// How often the program was run for that.
    pub runs: u64,
    /// Whether every class that takes fewer preemptions was run, and none fails in the same way: under
    /// sequential consistency, if nothing stale is told. A thread that looks again and again in a loop
    /// counts as if it waited.
    pub is_minimal: bool,
}

/// Two steps whose order decides.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CriticalPair {
    /// The step that comes first, as an index into the steps of the story.
    pub first: usize,
    /// The step that comes second, and would come first if all went well; `None` if it comes only
    /// after the end of the story, as behind a panic.
    pub second: Option<usize>,
    /// What follows from their order, in one sentence.
    pub why: String,
}

/// A step that could have seen something else.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Receive {
    /// Index into the steps of the story.
    pub step: usize,
    /// What it saw, and what it could have seen.
    pub sources: Vec<Source>,
}

/// What a receive sees or could have seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Source {
    /// In words: `store 1 to ready by producer`, `the initial value`.
    pub what: String,
    /// The step that does it, if it is one of the story.
    pub step: Option<usize>,
    /// Whether that is what it saw.
    pub is_seen: bool,
    /// What to type to run it so.
    pub command: Option<String>,
}

/// A line that has to do with the failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Mark {
    /// Which line.
    pub place: Place,
    /// What happens there.
    pub what: String,
    /// Whether it is where the failure shows itself, and not what led there.
    pub is_primary: bool,
}

/// A thread that waits at the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Wait {
    /// Index into the threads of the story.
    pub thread: usize,
    /// What it waits for, as the story calls it.
    pub what: String,
    /// Where it waits.
    pub place: Option<Place>,
    /// Who could end that but waits too, as an index into the threads of the story.
    pub on: Option<usize>,
    /// Where that thread took what is waited for.
    pub taken: Option<Place>,
}
