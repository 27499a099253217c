//! Threads that can never go on: who waits for what, and who could have given it.

use super::{Finding, lost_wakeup};
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::reply::Grant;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// A thread that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// What it was about to do.
    pub operation: Operation,
    /// Where.
    pub site: SiteId,
    /// The thread it waits for, if one can be named.
    pub waits_for: Option<ThreadId>,
    /// The objects it holds, each with the event that took it.
    pub holds: Vec<(ObjectId, EventId, SiteId)>,
}

/// What is wrong when no thread can go on and some have not ended.
pub(super) fn stuck(execution: &Execution) -> Finding {
    let blocked = blocked(execution);
    if is_cycle(&blocked) {
        return Finding::Deadlock(blocked);
    }
    if let Some(lost) = lost_wakeup::find(execution) {
        return Finding::LostWakeup { lost, blocked };
    }
    match execution.threads[ThreadId::MAIN.index()].end {
        Some(_) => Finding::ThreadOutlives(blocked),
        None => Finding::Deadlock(blocked),
    }
}

/// Threads that wait for each other while others went on without end.
pub(super) fn beside_others(execution: &Execution) -> Option<Finding> {
    let blocked = blocked(execution);
    is_cycle(&blocked).then_some(Finding::Deadlock(blocked))
}

/// Whether some wait for each other; these come first.
fn is_cycle(blocked: &[Blocked]) -> bool {
    let first = blocked.first();
    first.is_some_and(|first| is_in_cycle(blocked, first.thread))
}

/// Every thread that has not ended, when none of them can go on: those that wait for each other
/// first, then those that wait for them.
pub fn blocked(execution: &Execution) -> Vec<Blocked> {
    let waiting = execution.pending.iter().enumerate();
    let mut blocked: Vec<Blocked> = waiting
        .filter_map(|(index, pending)| {
            let (operation, site) = (*pending)?;
            let thread = ThreadId::new(index);
            let waits_for = match operation {
                Operation::Join { target } => Some(target),
                Operation::Call { object, .. } => execution.objects[object.index()].blocked_by(),
                _ => None,
            };
            Some(Blocked {
                thread,
                operation,
                site,
                waits_for,
                holds: held_by(execution, thread),
            })
        })
        .collect();
    let in_cycle: Vec<ThreadId> = blocked
        .iter()
        .map(|one| one.thread)
        .filter(|&thread| is_in_cycle(&blocked, thread))
        .collect();
    blocked.sort_by_key(|one| !in_cycle.contains(&one.thread));
    blocked
}

/// Whether the thread waits, over any number of others, for itself.
fn is_in_cycle(blocked: &[Blocked], thread: ThreadId) -> bool {
    let waits_for = |thread: ThreadId| {
        blocked
            .iter()
            .find(|one| one.thread == thread)
            .and_then(|one| one.waits_for)
    };
    let mut reached = waits_for(thread);
    for _ in blocked {
        match reached {
            Some(other) if other != thread => reached = waits_for(other),
            _ => break,
        }
    }
    reached == Some(thread)
}

fn held_by(execution: &Execution, thread: ThreadId) -> Vec<(ObjectId, EventId, SiteId)> {
    let objects = execution.objects.iter().enumerate();
    objects
        .filter(|(_, object)| object.held_by(thread))
        .filter_map(|(index, _)| {
            let object = ObjectId::new(index);
            let taken = taken(execution, object, thread)?;
            Some((object, taken.id, taken.site))
        })
        .collect()
}

/// The event with which a thread took an object for the last time.
pub fn taken(execution: &Execution, object: ObjectId, by: ThreadId) -> Option<&Event> {
    execution.events.iter().rev().find(|event| {
        event.id.thread == by && event.operation.object() == Some(object) && is_grant(event)
    })
}

pub(super) fn is_grant(event: &Event) -> bool {
    match event.operation {
        Operation::Call { call, .. } => {
            matches!(call.grant(event.reply), Some(Grant::Taken { .. }))
        }
        _ => false,
    }
}
