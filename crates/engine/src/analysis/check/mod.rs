//! Checkers: each reads a finished execution and says what is wrong with it.

pub mod deadlock;
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
use crate::model::ending::Divergence;
use crate::model::ending::Ending;
use crate::model::execution::Execution;

/// What is wrong with an execution, as facts; the words are made when it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A thread panicked, and nobody dealt with it.
    Panic(panic::Panic),
    /// Some threads can never go on.
    Deadlock(Vec<deadlock::Blocked>),
    /// A thread waits for ever, and what would have ended its wait came too early.
    LostWakeup {
        /// Which, and why.
        lost: lost_wakeup::LostWakeup,
        /// Everybody who waits.
        blocked: Vec<deadlock::Blocked>,
    },
    /// Nobody can go on, and some look again and again at what nobody changes.
    Livelock {
        /// Who, and at what.
        rounds: Vec<livelock::Round>,
        /// Who waits beside them.
        blocked: Vec<deadlock::Blocked>,
    },
    /// The body of the check has ended, and other threads wait for what nobody will give them.
    ThreadOutlives(Vec<deadlock::Blocked>),
    /// Locks are taken in an order that may be a deadlock one day.
    LockOrder(lock_order::LockOrder),
    /// Messages were sent and never received, though everybody has ended.
    Leak(Vec<leak::Unreceived>),
    /// The execution has more events than allowed.
    TooManyEvents {
        /// The limit.
        limit: usize,
        /// What its last events are, again and again, if that is all they are.
        repeated: Vec<limit::Repeated>,
    },
    /// A thread does not come to its next operation. Only the front end can know.
    Hang {
        /// The thread.
        thread: ThreadId,
        /// How long that has been so.
        limit: Duration,
    },
    /// A thread used more stack than it has.
    StackOverflow(ThreadId),
    /// Two accesses of a cell are not ordered.
    DataRace(race::DataRace),
    /// A thread used memory that was not there.
    MemoryError(memory_error::MemoryError),
    /// A thread did something for which the system ends the process. Only the front end can know.
    Crash(ThreadId),
    /// The program does not do the same when it is run the same way.
    Nondeterminism(Divergence),
}

impl Finding {
    /// After how many events it shows itself, if that is not at the end of the execution.
    pub fn after(&self) -> Option<usize> {
        match self {
            Finding::Panic(panic) => Some(panic.after),
            Finding::DataRace(race) => Some(race.second.after),
            Finding::MemoryError(error) => Some(error.after),
            _ => None,
        }
    }
}

/// Runs every checker; the first finding is what the user should look at first.
pub(crate) fn check(execution: &Execution, ending: &Ending, max_events: usize) -> Option<Finding> {
    if let Some(finding) = memory(execution, ending) {
        return Some(finding);
    }
    match ending {
        Ending::Diverged(divergence) => Some(Finding::Nondeterminism(divergence.clone())),
        Ending::StackOverflow(thread) => Some(Finding::StackOverflow(*thread)),
        Ending::Discarded | Ending::MemoryError => None,
        // A panic often is the reason why others wait for ever, so it comes first.
        Ending::Complete | Ending::Deadlock | Ending::Livelock | Ending::TooManyEvents => {
            panic::unhandled(execution)
                .map(|panic| Finding::Panic(panic.clone()))
                .or_else(|| match ending {
                    // Whoever waits would have been gone by then.
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

/// What is wrong with the use of memory. Whatever came after it may follow from it, a panic too.
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
