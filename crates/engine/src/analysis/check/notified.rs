//! Notifications of condition variables, and the threads that they woke.

use crate::base::ids::{ObjectId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, Object, condvar};

/// A notification, and the threads that it woke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Position of the event.
    pub position: usize,
    /// The woken threads; empty if none waited.
    pub reached: Vec<ThreadId>,
}

/// Returns every notification of an execution.
pub fn all(execution: &Execution) -> Vec<Notification> {
    let objects = execution.objects.iter().enumerate();
    let condvars = objects.filter(|(_, object)| matches!(object, Object::Condvar(_)));
    condvars
        .flat_map(|(index, _)| of(execution, ObjectId::new(index)))
        .collect()
}

/// Returns the last notification that woke another thread while this one waited; the thread still
/// waits.
pub fn instead_of(
    execution: &Execution,
    waiter: ThreadId,
    object: ObjectId,
) -> Option<Notification> {
    let is_wait = |event: &Event| {
        let wait = matches!(
            event.operation,
            Operation::Call { object: on, call: Call::Condvar(condvar::Call::Wait { .. }) } if on == object
        );
        wait && event.id.thread == waiter
    };
    let wait = execution.events.iter().rposition(is_wait)?;
    let notifications = of(execution, object).into_iter().rev();
    let mut later = notifications.take_while(|it| it.position > wait);
    later.find(|notification| !notification.reached.is_empty())
}

/// Returns every notification of one condition variable.
pub fn of(execution: &Execution, object: ObjectId) -> Vec<Notification> {
    // Threads that wait and have not been notified.
    let mut waiting: Vec<ThreadId> = Vec::new();
    let mut found = Vec::new();
    for (position, event) in execution.events.iter().enumerate() {
        let Operation::Call {
            object: on,
            call: Call::Condvar(call),
        } = event.operation
        else {
            continue;
        };
        if on != object {
            continue;
        }
        let thread = event.id.thread;
        let reached = match call {
            condvar::Call::Wait { .. } => {
                if !event.reply.to_answer() {
                    waiting.push(thread);
                }
                continue;
            }
            condvar::Call::Wake { .. } => {
                waiting.retain(|waiter| *waiter != thread);
                continue;
            }
            condvar::Call::NotifyOne => {
                let one = event.outcome.waiter();
                let one = (one < waiting.len()).then(|| waiting.remove(one));
                one.into_iter().collect()
            }
            condvar::Call::NotifyAll => std::mem::take(&mut waiting),
        };
        found.push(Notification { position, reached });
    }
    found
}
