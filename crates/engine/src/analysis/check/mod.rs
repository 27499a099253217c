//! Checkers: each reads a finished execution and returns its failure.

pub mod deadlock;
pub mod foreign;
pub mod held;
pub mod ignored;
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

use crate::analysis::behaviour::judge::{Violation, ViolationEnd};
use crate::analysis::race_kinds::{BlockValue, KindOfRace};
use crate::base::ids::{CellId, ThreadId};
use crate::model::access::Access;
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
    /// No thread is enabled, and some poll things that no other thread will change.
    Livelock {
        /// Polling threads, and the things they poll.
        rounds: Vec<livelock::Round>,
        /// Threads that are blocked besides.
        blocked: Vec<deadlock::Blocked>,
    },
    /// The body of the check has ended, and other threads are blocked forever.
    ThreadOutlives(Vec<deadlock::Blocked>),
    /// Locks are taken in an order that could deadlock.
    LockOrder(lock_order::LockOrder),
    /// Messages were never received, or values never dropped, although all threads have ended.
    Leak(Vec<leak::Leak>),
    /// The execution has more events than allowed.
    TooManyEvents {
        /// The limit.
        limit: usize,
        /// Loop in the last events, if there is one.
        repeated: Vec<limit::Repeated>,
    },
    /// The execution had not ended when the time of the check was over. Only the front end can detect
    /// this.
    OutOfTime {
        /// Time limit of the check; `None` if the user has stopped it.
        limit: Option<Duration>,
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
    /// Two accesses of a cell that this execution orders and another one may not.
    PredictedRace {
        /// The cell.
        cell: CellId,
        /// The earlier access in this run.
        first: Access,
        /// The later access.
        second: Access,
    },
    /// A race in or between blocks, or of variables that belong together.
    KindOfRace {
        /// The race.
        race: KindOfRace,
        /// The values of the blocks, if they are those of no serial order; `None` if no execution has confirmed the
        /// race.
        values: Option<BlockValues>,
    },
    /// A thread used memory that was freed, dropped or never allocated.
    MemoryError(memory_error::MemoryError),
    /// A thread performed an action for which the system ends the process. Only the front end can
    /// detect this.
    Crash(ThreadId),
    /// A thread that the check does not control used a value of the execution. Only the front end can
    /// detect this.
    ForeignThread(foreign::ForeignUse),
    /// An operation depends on the value of a location that the program declares to be ignored.
    IgnoredValue(ignored::IgnoredValue),
    /// The order of the labelled events violates a property of the check.
    Property(Violation),
    /// The program behaves differently under the same schedule.
    Nondeterminism(Divergence),
}

impl Finding {
    /// Returns the number of events after which the failure occurs, if that is not the end of the
    /// execution.
    pub fn after(&self) -> Option<usize> {
        match self {
            Finding::Panic(panic) => Some(panic.after),
            Finding::DataRace(race) => Some(race.second.after),
            Finding::MemoryError(error) => Some(error.after),
            Finding::Property(violation) if violation.end == ViolationEnd::Event => {
                violation.word.last().map(|(position, _)| position + 1)
            }
            _ => None,
        }
    }
}

/// The values of the blocks of an execution, and those of a serial one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockValues {
    /// Those of the execution.
    pub found: Vec<BlockValue>,
    /// Those of some serial executions.
    pub serial: Vec<Vec<BlockValue>>,
    /// Number of different values of serial executions.
    pub all: usize,
}

/// Runs every checker; returns the finding with the highest priority for the user.
#[inline]
pub(crate) fn check(execution: &Execution, ending: &Ending, max_events: usize) -> Option<Finding> {
    let Execution {
        conflict,
        memory_error,
        panics,
        ..
    } = execution;
    let is_clean = conflict.is_none() && memory_error.is_none() && panics.is_empty();
    match ending {
        // Most executions.
        Ending::Complete if is_clean => None,
        _ => find(execution, ending, max_events),
    }
}

#[inline(never)]
fn find(execution: &Execution, ending: &Ending, max_events: usize) -> Option<Finding> {
    if let Some(finding) = memory(execution, ending) {
        return Some(finding);
    }
    match ending {
        // A thread whose call was refused ends early, which is not what the search expects of it.
        Ending::Diverged(divergence) => Some(match panic::refusal(execution) {
            Some(refusal) => Finding::Panic(refusal.clone()),
            None => Finding::Nondeterminism(divergence.clone()),
        }),
        Ending::StackOverflow(thread) => Some(Finding::StackOverflow(*thread)),
        Ending::Discarded | Ending::MemoryError | Ending::Interfered => None,
        // A panic is often the reason why other threads are blocked, so it comes first.
        Ending::Complete
        | Ending::Deadlock
        | Ending::Livelock
        | Ending::TooManyEvents
        | Ending::OutOfTime => {
            panic::unhandled(execution)
                .map(|panic| Finding::Panic(panic.clone()))
                .or_else(|| match ending {
                    // The program has ended, so blocked threads no longer exist.
                    _ if execution.is_over => None,
                    Ending::Livelock => Some(livelock::found(execution)),
                    Ending::Deadlock => Some(deadlock::stuck(execution)),
                    Ending::TooManyEvents => {
                        deadlock::cycle(execution).or(Some(Finding::TooManyEvents {
                            limit: max_events,
                            repeated: limit::repeated(execution),
                        }))
                    }
                    Ending::OutOfTime => deadlock::cycle(execution),
                    _ => None,
                })
        }
    }
}

/// True when some threads are blocked for ever if the others do nothing but poll.
pub(crate) fn is_blocked_for_ever(execution: &Execution) -> bool {
    deadlock::for_ever(execution).is_some()
}

/// Returns a memory error or data race. Later failures, including a panic, may be consequences of
/// it.
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
