//! Panics that nobody dealt with.
//!
//! As with std's threads, a panic that `join` returned is the joining thread's business. If that
//! thread panics in turn, the first panic is still the cause.

use crate::event::ThreadId;
use crate::execution::Execution;

/// A thread that ended by a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// The thread that panicked.
    pub thread: ThreadId,
    /// What it said.
    pub message: String,
    /// Where, as `file:line:column`, if it is known.
    pub place: Option<String>,
    /// How many events had happened when it began.
    pub after: usize,
    /// The thread that was given the panic by `join`.
    pub joined_by: Option<ThreadId>,
}

/// The first panic that the program did not deal with.
pub fn unhandled(execution: &Execution) -> Option<&Panic> {
    execution
        .panics
        .iter()
        .find(|panic| !is_handled(execution, panic))
}

fn is_handled(execution: &Execution, panic: &Panic) -> bool {
    panic.joined_by.is_some_and(|joiner| {
        execution
            .panics
            .iter()
            .filter(|other| other.thread == joiner && other.after >= panic.after)
            .all(|other| is_handled(execution, other))
    })
}
