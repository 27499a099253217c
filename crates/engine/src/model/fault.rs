//! Faults of threads, recorded as they occur: panics and memory errors.

use crate::base::ids::{SiteId, ThreadId};

/// A thread that ended by a panic, or by the equivalent of one in a program that is not written in
/// Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// The thread that panicked.
    pub thread: ThreadId,
    /// Kind of failure, as the program's language calls it.
    pub manner: Manner,
    /// Message of the panic.
    pub message: String,
    /// Place in the source as `file:line:column`, if it is known.
    pub place: Option<String>,
    /// Number of events before the panic began.
    pub after: usize,
    /// Thread that received the panic from `join`.
    pub joined_by: Option<ThreadId>,
}

/// The way in which a thread failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Manner {
    /// It panicked, as threads of Rust programs do.
    #[default]
    Panic,
    /// An assertion of the program failed.
    Assertion,
    /// It performed an action for which the system, or its language, ends the process.
    Crash,
    /// It used memory that was freed.
    Memory,
    /// It freed memory that was freed before.
    FreedTwice,
    /// It used memory outside its allocation.
    Outside,
    /// It read memory that nothing had written.
    Uninitialised,
    /// It ended the program with a status that reports a failure.
    Exit,
    /// It performed an operation that cannot be controlled.
    Uncontrolled,
}

/// A use of memory that was freed, dropped or never allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// Thread that used the memory.
    pub thread: ThreadId,
    /// Kind of value expected there.
    pub what: &'static str,
    /// Site of the use.
    pub site: SiteId,
    /// Number of events of the execution before the use.
    pub after: usize,
    /// State of the memory at the use.
    pub fate: Fate,
}

/// The state of memory that was used in error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No value was created there.
    NeverMade,
    /// The value was dropped.
    Dropped(Option<Moment>),
    /// The memory was freed.
    Freed(Option<Moment>),
}

/// An action of a thread between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The thread.
    pub thread: ThreadId,
    /// Number of events of the execution before the action.
    pub after: usize,
}
