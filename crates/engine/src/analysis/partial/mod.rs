//! Partial traces of a failure, and the executions that are consistent with one.
//!
//! A partial trace has the places that threads passed, as a log of the failed run or the stacks of a core have them.
//! The executions that are consistent with it contain the failed run, if it had the same input (*total replay*, Setiadi
//! 2015). [`Follower`] matches a running execution event by event, so that a search can leave out a subtree in which
//! every execution contradicts the trace.

mod follow;
mod text;

pub use follow::{Contradiction, Follower, MatchesPlace};
pub use text::PartialTraceError;

/// What is known of an execution that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartialTrace {
    /// The logs of the threads.
    pub threads: Vec<ThreadLog>,
    /// True when the lines of all threads are in the order of time.
    pub is_ordered: bool,
}

/// The places of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadLog {
    /// Name of the thread, or its position in the tree of creations: `main.2`.
    pub thread: String,
    /// The operations that it performed, in program order.
    pub passed: Vec<LogLine>,
    /// The operation that it was at when the program failed: one of these places.
    pub at: Vec<LogPlace>,
}

/// An operation of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogLine {
    /// Number of the line in the file, from 1.
    pub line: u32,
    /// The place.
    pub place: LogPlace,
}

/// A place in the source, with an operation if only those count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogPlace {
    /// Path of the file, or its last parts.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Label of the operation.
    pub operation: Option<String>,
}

impl LogPlace {
    /// True for this place in the form `file:line:column`.
    pub fn is(&self, place: &str) -> bool {
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (Some(column), Some(line)) = (number(), number()) else {
            return false;
        };
        let file = parts.next().unwrap_or_default().replace('\\', "/");
        let own = self.file.replace('\\', "/");
        let is_file = file == own
            || file
                .strip_suffix(&*own)
                .is_some_and(|folder| folder.ends_with('/'))
            || own
                .strip_suffix(&*file)
                .is_some_and(|folder| folder.ends_with('/'));
        is_file && self.line == line && self.column.is_none_or(|own| own == column)
    }
}
