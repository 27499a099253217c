//! How executions end.

use super::operation::Operation;
use crate::base::ids::{SiteId, ThreadId};

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every thread ended.
    Complete,
    /// Some threads have not ended and none of them can go on.
    Deadlock,
    /// Some threads have not ended, none of them can go on, and some repeat reads of values that no
    /// thread changes.
    Livelock,
    /// The execution does not count: the program said so (`assume`), or a thread looked again before
    /// there was anything new to see.
    Discarded,
    /// More events than allowed.
    TooManyEvents,
    /// A thread used more stack than it has.
    StackOverflow(ThreadId),
    /// A thread used memory that was not there.
    MemoryError,
    /// A thread that the check does not control used a value of the execution.
    Interfered,
    /// The program did not do what it did before.
    Diverged(Divergence),
}

/// The program did not do what the strategy had on record for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Whose record it was.
    pub from: Record,
    /// How many events had been performed as recorded.
    pub after: usize,
    /// The thread that differs.
    pub thread: String,
    /// What it should have done, in words.
    pub expected: String,
    /// Where it did so in the earlier run, if that is known.
    pub expected_at: Option<SiteId>,
    /// What it was about to do, in words; `None` if there is no such thread or it has ended.
    pub found: Option<String>,
    /// The same as data, if the program did another thing than in an earlier run.
    pub pending: Option<Operation>,
    /// Where that is.
    pub found_at: Option<SiteId>,
}

/// What the strategy goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// What the program did in an earlier run.
    EarlierRun,
    /// A schedule given by the user.
    Schedule,
    /// An alternative given by the user; the run was only an attempt.
    Alternative,
    /// A scheduler of the user's, which made a choice that cannot be made.
    Scheduler,
}
