//! Deadlocks: blocked threads, their pending operations, and the threads that could unblock them.

use super::{Finding, lost_wakeup};
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::reply::Grant;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, rwlock};

/// A thread that is blocked forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// Its pending operation.
    pub operation: Operation,
    /// Source location of the operation.
    pub site: SiteId,
    /// The thread that it waits for, if one can be named.
    pub waits_for: Option<ThreadId>,
    /// The objects that it holds, each with the event that acquired it and its source location.
    pub holds: Vec<(ObjectId, EventId, SiteId)>,
}

/// Returns the finding when no thread is enabled and some have not ended.
pub(super) fn stuck(execution: &Execution) -> Finding {
    if let Some(finding) = for_ever(execution) {
        return finding;
    }
    let blocked = blocked(execution);
    match execution.threads[ThreadId::MAIN.index()].end {
        Some(_) => Finding::ThreadOutlives(blocked),
        None => match lost_wakeup::never_woken(execution) {
            Some(lost) => Finding::LostWakeup { lost, blocked },
            None => Finding::Deadlock(blocked),
        },
    }
}

/// Returns a cycle of blocked threads, which no other thread can end.
pub(super) fn cycle(execution: &Execution) -> Option<Finding> {
    let blocked = blocked(execution);
    is_cycle(&blocked).then_some(Finding::Deadlock(blocked))
}

/// Returns a cycle of blocked threads or a lost wake-up, in an execution in which no other thread will
/// notify.
pub(super) fn for_ever(execution: &Execution) -> Option<Finding> {
    cycle(execution).or_else(|| {
        let lost = lost_wakeup::find(execution)?;
        let blocked = blocked(execution);
        Some(Finding::LostWakeup { lost, blocked })
    })
}

/// True when some threads wait for each other; these come first.
fn is_cycle(blocked: &[Blocked]) -> bool {
    let first = blocked.first();
    first.is_some_and(|first| is_in_cycle(blocked, first.thread))
}

/// Returns every thread that has not ended, when none is enabled: first those in a cycle, then
/// those that wait for them.
pub fn blocked(execution: &Execution) -> Vec<Blocked> {
    let waiting = execution.pending.iter().enumerate();
    let mut blocked: Vec<Blocked> = waiting
        .filter_map(|(index, pending)| {
            let (operation, site) = (*pending)?;
            let thread = ThreadId::new(index);
            let waits_for = match operation {
                Operation::Join { target } => Some(target),
                Operation::Call {
                    object,
                    call: Call::RwLock(rwlock::Call::ReadBehind),
                } => writer_of(execution, object, thread),
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

/// Returns a thread that waits to write under the lock.
fn writer_of(execution: &Execution, lock: ObjectId, reader: ThreadId) -> Option<ThreadId> {
    let write = Operation::Call {
        object: lock,
        call: Call::RwLock(rwlock::Call::Write),
    };
    let mut pending = execution.pending.iter().enumerate();
    let is_write = |it: &Option<(Operation, SiteId)>| it.is_some_and(|(it, _)| it == write);
    let writer = pending.find(|&(index, it)| index != reader.index() && is_write(it));
    writer.map(|(index, _)| ThreadId::new(index))
}

/// True when the thread waits for itself through any number of others.
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

/// Returns the event with which the thread last acquired the object.
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
