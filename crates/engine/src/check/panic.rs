//! Panics that nobody dealt with.
//!
//! As with std's threads, a panic that `join` returned is the joining thread's business. If that
//! thread panics in turn, the first panic is still the cause. So it is when a thread panics because
//! it found a lock poisoned.

use crate::event::{Grant, ObjectId, Operation, ThreadId};
use crate::execution::Execution;
use crate::object::{Call, mutex, rwlock};

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

/// The first panic that the program did not deal with, or the one behind it.
pub fn unhandled(execution: &Execution) -> Option<&Panic> {
    let panics = execution.panics.iter();
    panics
        .filter(|panic| !is_handled(execution, panic))
        .min_by_key(|panic| panic.after)
        .map(|panic| cause(execution, panic))
}

/// The panic that began it all.
pub fn cause<'e>(execution: &'e Execution, mut panic: &'e Panic) -> &'e Panic {
    while let Some((earlier, _)) = poisoned_by(execution, panic) {
        panic = earlier;
    }
    panic
}

/// If the thread panicked because it found a lock poisoned: the panic that poisoned it, and the lock.
pub fn poisoned_by<'e>(execution: &'e Execution, panic: &Panic) -> Option<(&'e Panic, ObjectId)> {
    if !panic.message.contains("PoisonError") {
        return None;
    }
    let events = execution.events.get(..panic.after)?;
    let found = events
        .iter()
        .rposition(|event| event.id.thread == panic.thread)?;
    let Operation::Call { object, call } = events[found].operation else {
        return None;
    };
    let poisoned = Some(Grant::Taken { poisoned: true });
    if call.grant(events[found].reply) != poisoned {
        return None;
    }
    let poisons = |call| {
        matches!(
            call,
            Call::Mutex(mutex::Call::Unlock { poison: true })
                | Call::RwLock(rwlock::Call::WriteUnlock { poison: true })
        )
    };
    let by = events[..found].iter().rposition(|event| {
        matches!(event.operation, Operation::Call { object: on, call } if on == object && poisons(call))
    })?;
    let thread = events[by].id.thread;
    let mut panics = execution.panics.iter().rev();
    let earlier = panics.find(|other| other.thread == thread && other.after <= by)?;
    Some((earlier, object))
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
