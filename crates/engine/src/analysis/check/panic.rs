//! Unhandled panics.
//!
//! As with std's threads, a panic that `join` returned is handled by the joining thread. If that
//! thread panics in turn, the first panic is still the cause. The same holds when a thread panics
//! because it found a lock or a `Once` poisoned.

use crate::base::ids::{ObjectId, SiteId};
pub use crate::model::fault::{Manner, Panic};

use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Returns the first unhandled panic, or its cause.
pub fn unhandled(execution: &Execution) -> Option<&Panic> {
    let panics = execution.panics.iter();
    panics
        .filter(|panic| !is_handled(execution, panic))
        .min_by_key(|panic| panic.after)
        .map(|panic| cause(execution, panic))
}

/// Returns the panic that caused this one.
pub fn cause<'e>(execution: &'e Execution, mut panic: &'e Panic) -> &'e Panic {
    while let Some(poison) = poisoned_by(execution, panic) {
        panic = poison.by;
    }
    panic
}

/// The reason why an object was poisoned.
#[derive(Clone, Copy, Debug)]
pub struct Poison<'e> {
    /// The panic that poisoned it.
    pub by: &'e Panic,
    /// The poisoned object.
    pub object: ObjectId,
    /// Source location at which the poison was found.
    pub found: SiteId,
}

/// Returns the first unhandled panic by which the front end refused a call of the program, such as that of a lock which
/// another worker of the check holds. These panics begin with its name.
pub(super) fn refusal(execution: &Execution) -> Option<&Panic> {
    unhandled(execution).filter(|panic| panic.message.starts_with("raddle: "))
}

/// Returns the poisoned object that made the thread panic, if there is one, and the panic that
/// poisoned it.
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
    matches!(event.operation, Operation::Call { call, .. } if call.finds_poison(event.reply))
}

fn poisons(event: &Event) -> bool {
    matches!(event.operation, Operation::Call { call, .. } if call.poisons())
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
