//! Panics that nobody dealt with.
//!
//! As with std's threads, a panic that `join` returned is the joining thread's business. If that
//! thread panics in turn, the first panic is still the cause. So it is when a thread panics because
//! it found a lock, or something to be done once, poisoned.

use crate::base::ids::{ObjectId, SiteId};
use crate::base::reply::Grant;
pub use crate::model::fault::{Manner, Panic};

use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, mutex, once, rwlock};

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
    while let Some(poison) = poisoned_by(execution, panic) {
        panic = poison.by;
    }
    panic
}

/// Why a thread found something poisoned.
#[derive(Clone, Copy, Debug)]
pub struct Poison<'e> {
    /// The panic that poisoned it.
    pub by: &'e Panic,
    /// What was poisoned.
    pub object: ObjectId,
    /// Where it was found to be.
    pub found: SiteId,
}

/// If the thread panicked because it found something poisoned: what, and who did it.
pub fn poisoned_by<'e>(execution: &'e Execution, panic: &Panic) -> Option<Poison<'e>> {
    let says = |text| panic.message.contains(text);
    if !says("PoisonError") && !says("instance has previously been poisoned") {
        return None;
    }
    let events = execution.events.get(..panic.after)?;
    let found = events
        .iter()
        .rposition(|event| event.id.thread == panic.thread)?;
    let object = events[found].operation.object()?;
    if !finds_poison(&events[found]) {
        return None;
    }
    let by = events[..found]
        .iter()
        .rposition(|event| event.operation.object() == Some(object) && poisons(event))?;
    let thread = events[by].id.thread;
    let mut panics = execution.panics.iter().rev();
    let earlier = panics.find(|other| other.thread == thread && other.after <= by)?;
    Some(Poison {
        by: earlier,
        object,
        found: events[found].site,
    })
}

fn finds_poison(event: &Event) -> bool {
    let Operation::Call { call, .. } = event.operation else {
        return false;
    };
    match call {
        Call::Once(once::Call::Wait { .. }) => event.reply.to_answer(),
        call => call.grant(event.reply) == Some(Grant::Taken { poisoned: true }),
    }
}

fn poisons(event: &Event) -> bool {
    let Operation::Call { call, .. } = event.operation else {
        return false;
    };
    matches!(
        call,
        Call::Mutex(mutex::Call::Unlock { poison: true })
            | Call::RwLock(rwlock::Call::WriteUnlock { poison: true })
            | Call::Once(once::Call::Finish { poison: true })
    )
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
