//! Checkers: each reads a finished execution and says what is wrong with it.

pub mod deadlock;
pub mod lock_order;
pub mod panic;

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::strategy::Divergence;
use crate::world::Ending;

/// What is wrong with an execution, as facts; the words are made when it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A thread panicked, and nobody dealt with it.
    Panic(panic::Panic),
    /// Some threads can never go on.
    Deadlock(Vec<deadlock::Blocked>),
    /// Locks are taken in an order that may be a deadlock one day.
    LockOrder(lock_order::LockOrder),
    /// The execution has more events than allowed.
    TooManyEvents {
        /// The limit.
        limit: usize,
    },
    /// A thread used more stack than it has.
    StackOverflow(ThreadId),
    /// The program does not do the same when it is run the same way.
    Nondeterminism(Divergence),
}

/// Runs every checker; the first finding is what the user should look at first.
pub(crate) fn check(execution: &Execution, ending: &Ending, max_events: usize) -> Option<Finding> {
    match ending {
        Ending::Diverged(divergence) => Some(Finding::Nondeterminism(divergence.clone())),
        Ending::StackOverflow(thread) => Some(Finding::StackOverflow(*thread)),
        Ending::Discarded => None,
        // A panic often is the reason why others wait for ever, so it comes first.
        Ending::Complete | Ending::Deadlock | Ending::TooManyEvents => panic::unhandled(execution)
            .map(|panic| Finding::Panic(panic.clone()))
            .or_else(|| match ending {
                Ending::Deadlock => Some(Finding::Deadlock(deadlock::blocked(execution))),
                Ending::TooManyEvents => Some(Finding::TooManyEvents { limit: max_events }),
                _ => None,
            }),
    }
}
