//! Endings of executions.

use super::operation::Operation;
use crate::base::ids::{SiteId, ThreadId};

/// The way an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every thread ended.
    Complete,
    /// Some threads have not ended and all of these are blocked.
    Deadlock,
    /// Some threads have not ended, all of these are blocked, and some spin on values that no
    /// thread changes.
    Livelock,
    /// The execution does not count: the program discarded it (`assume`), or a thread repeated a
    /// read before its value changed.
    Discarded,
    /// The execution reached the maximum number of events.
    TooManyEvents,
    /// The time of the check was over in the middle of it.
    OutOfTime,
    /// A thread overflowed its stack.
    StackOverflow(ThreadId),
    /// A thread used memory that was freed, dropped or never allocated.
    MemoryError,
    /// A thread that the check does not control used a value of the execution.
    Interfered,
    /// The program did not repeat its recorded behaviour.
    Diverged(Divergence),
}

/// A difference between the program's behaviour and the record that the strategy follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Record that the strategy follows.
    pub from: Record,
    /// Number of events performed as recorded.
    pub after: usize,
    /// Thread that differs.
    pub thread: String,
    /// Recorded operation of the thread, in words.
    pub expected: String,
    /// Site of the recorded operation, if it is known.
    pub expected_at: Option<SiteId>,
    /// Pending operation of the thread, in words; `None` if there is no such thread or it has
    /// ended.
    pub found: Option<String>,
    /// Pending operation as data, if the record is an earlier run.
    pub pending: Option<Operation>,
    /// Site of the pending operation.
    pub found_at: Option<SiteId>,
}

/// A record that the strategy follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The behaviour of the program in an earlier run.
    EarlierRun,
    /// A schedule given by the user.
    Schedule,
    /// An alternative selected by the user; the run was only an attempt.
    Alternative,
    /// A scheduler of the user, which made a choice that is not possible.
    Scheduler,
    /// A scheduler of the user, which ended the execution: it is discarded.
    Discarded,
}
