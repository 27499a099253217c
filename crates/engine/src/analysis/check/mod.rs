//! Checkers: each reads a finished execution and reports what is wrong with it.

pub mod deadlock;
pub mod foreign;
pub mod held;
pub mod leak;
pub mod limit;
pub mod livelock;
pub mod lock_order;
pub mod lost_wakeup;
pub mod memory_error;
pub mod notified;
pub mod panic;
pub mod race;

use std::time::Duration;

use crate::base::ids::ThreadId;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;

/// A failure of an execution, as data; the report renders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An unhandled panic.
    Panic(panic::Panic),
    /// Some threads are blocked forever.
    Deadlock(Vec<deadlock::Blocked>),
    /// A thread is blocked forever, and the notification that would have woken it came too early.
    LostWakeup {
        /// The notification and the wait.
        lost: lost_wakeup::LostWakeup,
        /// All blocked threads.
        blocked: Vec<deadlock::Blocked>,
    },
    /// No thread is enabled, and some poll what no other thread will change.
    Livelock {
        /// The polling threads, and what they poll.
        rounds: Vec<livelock::Round>,
        /// Threads that are blocked besides.
        blocked: Vec<deadlock::Blocked>,
    },
    /// The body of the check has ended, and other threads are blocked forever.
    ThreadOutlives(Vec<deadlock::Blocked>),
    /// Locks are taken in an order that could deadlock.
    LockOrder(lock_order::LockOrder),
    /// Messages were sent and never received, although all threads have ended.
    Leak(Vec<leak::Unreceived>),
    /// The execution has more events than allowed.
    TooManyEvents {
        /// The limit.
        limit: usize,
        /// The loop that the last events are, if they are one.
        repeated: Vec<limit::Repeated>,
    },
    /// A thread does not reach its next operation. Only the front end can detect this.
    Hang {
        /// The thread.
        thread: ThreadId,
        /// Time limit that was exceeded.
        limit: Duration,
    },
    /// A thread overflowed its stack.
    StackOverflow(ThreadId),
    /// Two unordered accesses of a cell, one of them a write.
    DataRace(race::DataRace),
    /// A thread used memory that was not there.
    MemoryError(memory_error::MemoryError),
    /// A thread did something for which the system ends the process. Only the front end can detect
    /// this.
    Crash(ThreadId),
    /// A thread that the check does not control used a value of the execution. Only the front end can
    /// detect this.
    ForeignThread(foreign::ForeignUse),
    /// The program behaves differently under the same schedule.
    Nondeterminism(Divergence),
}

impl Finding {
    /// Number of events after which the failure shows, if that is not the end of the execution.
    pub fn after(&self) -> Option<usize> {
        match self {
            Finding::Panic(panic) => Some(panic.after),
            Finding::DataRace(race) => Some(race.second.after),
            Finding::MemoryError(error) => Some(error.after),
            _ => None,
        }
    }
}

/// Runs every checker; returns the finding that the user should look at first.
pub(crate) fn check(execution: &Execution, ending: &Ending, max_events: usize) -> Option<Finding> {
    if let Some(finding) = memory(execution, ending) {
        return Some(finding);
    }
    match ending {
        Ending::Diverged(divergence) => Some(Finding::Nondeterminism(divergence.clone())),
        Ending::StackOverflow(thread) => Some(Finding::StackOverflow(*thread)),
        Ending::Discarded | Ending::MemoryError | Ending::Interfered => None,
        // A panic is often the reason why other threads are blocked, so it comes first.
        Ending::Complete | Ending::Deadlock | Ending::Livelock | Ending::TooManyEvents => {
            panic::unhandled(execution)
                .map(|panic| Finding::Panic(panic.clone()))
                .or_else(|| match ending {
                    // The program has ended, so blocked threads no longer exist.
                    _ if execution.is_over => None,
                    Ending::Livelock => Some(livelock::found(execution)),
                    Ending::Deadlock => Some(deadlock::stuck(execution)),
                    Ending::TooManyEvents => {
                        deadlock::beside_others(execution).or(Some(Finding::TooManyEvents {
                            limit: max_events,
                            repeated: limit::repeated(execution),
                        }))
                    }
                    _ => None,
                })
        }
    }
}

/// Returns a memory error or data race. What follows it, including a panic, may be a consequence.
fn memory(execution: &Execution, ending: &Ending) -> Option<Finding> {
    if matches!(ending, Ending::Diverged(_) | Ending::Discarded) {
        return None;
    }
    let (conflict, error) = (&execution.conflict, &execution.memory_error);
    let found = match (conflict, error) {
        (Some(conflict), Some(error)) if error.after < conflict.second.after => {
            (error.after, Finding::MemoryError(error.clone()))
        }
        (Some(conflict), _) => (
            conflict.second.after,
            Finding::DataRace(race::explain(execution, conflict)),
        ),
        (None, Some(error)) => (error.after, Finding::MemoryError(error.clone())),
        (None, None) => return None,
    };
    let (after, finding) = found;
    let panicked_before = panic::unhandled(execution).is_some_and(|panic| panic.after < after);
    (!panicked_before).then_some(finding)
}
