//! Faults of threads that an execution records as they happen: panics, and uses of memory that is not
//! there.

use crate::base::ids::{SiteId, ThreadId};

/// A thread that ended by a panic, or by what is one to a program that is no Rust program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// The thread that panicked.
    pub thread: ThreadId,
    /// What it is called where the program was written.
    pub manner: Manner,
    /// What it said.
    pub message: String,
    /// Where, as `file:line:column`, if it is known.
    pub place: Option<String>,
    /// How many events had happened when it began.
    pub after: usize,
    /// The thread that was given the panic by `join`.
    pub joined_by: Option<ThreadId>,
}

/// How a thread came to an end that it should not have come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Manner {
    /// It panicked, as threads of Rust programs do.
    #[default]
    Panic,
    /// It found something that its source says is never so.
    Assertion,
    /// It did something for which the system, or its language, ends the process.
    Crash,
    /// It used memory that was not its own any more.
    Memory,
    /// It used memory outside of what it had asked for.
    Outside,
    /// It ended the program, and said by the status that something is wrong.
    Exit,
    /// It did something that cannot be controlled.
    Uncontrolled,
}

/// A use of memory that was freed, dropped or never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// The thread that used it.
    pub thread: ThreadId,
    /// What it should have been.
    pub what: &'static str,
    /// Where it was used.
    pub site: SiteId,
    /// How many events the execution had by then.
    pub after: usize,
    /// What had become of it.
    pub fate: Fate,
}

/// What had become of memory that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing had been made there.
    NeverMade,
    /// It had been dropped.
    Dropped(Option<Moment>),
    /// Its memory had been given back.
    Freed(Option<Moment>),
}

/// Something that a thread did between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The thread.
    pub thread: ThreadId,
    /// How many events the execution had by then.
    pub after: usize,
}
