//! Lost wake-ups: notifications before a wait, and the waits that never end because of them.
//!
//! A notification without a waiter is common: a thread that comes later checks the condition and
//! does not wait. So it counts as lost only if the blocked thread cannot have observed the change.
//! Either it was the first to take the lock since, and waited without reading anything. Or it held
//! the lock already, and something was changed without the lock. Or it checked the condition, which
//! may have changed after that. The condition itself is not observable.

use super::notified;
use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::base::reply::Grant;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, Object, condvar, monitor, mutex, parker};

/// A wait that never ends, and the notification that it missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWakeup {
    /// The waiting thread.
    pub waiter: ThreadId,
    /// The object that it waits on.
    pub object: ObjectId,
    /// The notifying thread, and the source location of the notification; `None` if there was none.
    pub notification: Option<(ThreadId, SiteId)>,
    /// Reason why the notification was lost.
    pub why: Why,
}

/// A reason why a notification was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The waiter took the lock later, and waited nevertheless.
    BeforeTheLock,
    /// The waiter held the lock already and was about to wait.
    UnderTheLock {
        /// The lock.
        lock: ObjectId,
        /// Source location at which it was taken.
        since: SiteId,
    },
    /// The waiter checked the condition, and the lock was taken once more while it waited: the
    /// notification preceded the change.
    BeforeTheChange {
        /// The lock.
        lock: ObjectId,
        /// The thread that took it.
        by: ThreadId,
        /// Source location at which it was taken.
        taken: SiteId,
    },
    /// The token of an earlier `unpark` was still there, and a thread has at most one.
    TokenThere,
    /// The waker of a task was not called since the task was polled last.
    NeverWoken,
}

/// Returns the first task that is suspended for ever, and has declared nothing that it waits for.
pub fn never_woken(execution: &Execution) -> Option<LostWakeup> {
    let mut waiting = execution.pending.iter().enumerate();
    waiting.find_map(|(index, pending)| {
        let (Operation::Call { object, .. }, _) = (*pending)? else {
            return None;
        };
        let waiter = ThreadId::new(index);
        let state = &execution.objects[object.index()];
        let is_waker = matches!(state, Object::Parker(parker) if parker.is_waker());
        let declares = execution
            .awaits
            .iter()
            .any(|(thread, ..)| *thread == waiter);
        (is_waker && !declares).then_some(LostWakeup {
            waiter,
            object,
            notification: None,
            why: Why::NeverWoken,
        })
    })
}

/// Returns the first thread that is blocked forever by a lost notification.
pub fn find(execution: &Execution) -> Option<LostWakeup> {
    let waiting = execution.pending.iter().enumerate();
    waiting
        .filter_map(|(index, pending)| match (*pending)?.0 {
            Operation::Call { object, call } => Some((ThreadId::new(index), object, call)),
            _ => None,
        })
        .find_map(|(waiter, object, call)| {
            let (position, why) = match call {
                Call::Condvar(condvar::Call::Wake { .. }) => condition(execution, waiter, object)?,
                Call::Monitor(monitor::Call::Resume) => signal(execution, waiter, object)?,
                Call::Parker(parker::Call::Park { .. }) => token(execution, waiter, object)?,
                _ => return None,
            };
            let notification = &execution.events[position];
            Some(LostWakeup {
                waiter,
                object,
                notification: Some((notification.id.thread, notification.site)),
                why,
            })
        })
}

/// Returns the call of an event on this object.
fn call_on(event: &Event, object: ObjectId) -> Option<Call> {
    match event.operation {
        Operation::Call { object: on, call } if on == object => Some(call),
        _ => None,
    }
}

fn takes(event: &Event, lock: ObjectId) -> bool {
    let grant = call_on(event, lock).and_then(|call| call.grant(event.reply));
    matches!(grant, Some(Grant::Taken { .. }))
}

/// Returns the position of the lost notification, for a waiter on a condition variable.
fn condition(execution: &Execution, waiter: ThreadId, object: ObjectId) -> Option<(usize, Why)> {
    let events = &execution.events;
    let is_wait = |event: &Event| {
        let wait = matches!(
            call_on(event, object),
            Some(Call::Condvar(condvar::Call::Wait { .. }))
        );
        wait && event.id.thread == waiter
    };
    let wait = events.iter().rposition(is_wait)?;
    let lock = events[wait..].iter().find_map(|event| {
        let unlock = Call::Mutex(mutex::Call::Unlock { poison: false });
        let lock = event.operation.object()?;
        (event.id.thread == waiter && call_on(event, lock) == Some(unlock)).then_some(lock)
    })?;
    let notifications = notified::of(execution, object);
    let mut earlier = notifications.iter().rev().filter(|it| it.position < wait);
    let lost = earlier.find(|notification| notification.reached.is_empty());
    let lost = lost.map(|notification| notification.position);
    let lost = lost.filter(|&lost| events[lost].id.thread != waiter)?;
    let since = (0..wait).rev().find(|&at| takes(&events[at], lock))?;
    if events[since].id.thread != waiter {
        return None;
    }
    let held = || events[since..wait].iter();
    let looked = matches!(
        call_on(&events[wait], object),
        Some(Call::Condvar(condvar::Call::Wait { looked: true, .. }))
    ) || held().any(|event| event.id.thread == waiter && reads(event));
    let changed = held().any(|event| event.id.thread != waiter && writes(event));
    let since_site = events[since].site;
    if lost > since {
        let why = Why::UnderTheLock {
            lock,
            since: since_site,
        };
        return (!looked || changed).then_some((lost, why));
    }
    if events[lost..since].iter().any(|event| takes(event, lock)) {
        return None;
    }
    if !looked {
        return Some((lost, Why::BeforeTheLock));
    }
    // The thread that made the change has notified, and reached another waiter.
    if notified::instead_of(execution, waiter, object).is_some() {
        return None;
    }
    let later = events[wait..].iter();
    let mut later = later.filter(|event| event.id.thread != waiter && takes(event, lock));
    let change = later.next()?;
    let why = Why::BeforeTheChange {
        lock,
        by: change.id.thread,
        taken: change.site,
    };
    Some((lost, why))
}

fn reads(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Load { .. } | Operation::Update { .. }
    )
}

fn writes(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Store { .. } | Operation::Update { .. }
    )
}

/// Returns the position of the lost signal, for a waiter on a condition of a monitor.
fn signal(execution: &Execution, waiter: ThreadId, object: ObjectId) -> Option<(usize, Why)> {
    let events = &execution.events;
    let calls = || {
        let calls = events.iter().enumerate();
        calls.filter_map(|(position, event)| match call_on(event, object)? {
            Call::Monitor(call) => Some((position, event.id.thread, call)),
            _ => None,
        })
    };
    let mut waiting: Vec<(u32, ThreadId)> = Vec::new();
    let mut lost: Vec<(u32, usize)> = Vec::new();
    let mut wait = None;
    for (position, thread, call) in calls() {
        match call {
            monitor::Call::Wait(condition) => {
                if thread == waiter {
                    wait = Some((condition, position));
                }
                waiting.push((condition, thread));
            }
            monitor::Call::Signal(condition) | monitor::Call::SignalAll(condition) => {
                let found = waiting.iter().position(|(one, _)| *one == condition);
                match (found, call) {
                    (None, _) => lost.push((condition, position)),
                    (Some(first), monitor::Call::Signal(_)) => {
                        waiting.remove(first);
                    }
                    _ => waiting.retain(|(one, _)| *one != condition),
                }
            }
            _ => {}
        }
    }
    let (condition, wait) = wait?;
    // It was signalled and cannot enter the monitor again, which is not a lost signal.
    waiting.iter().find(|(_, thread)| *thread == waiter)?;
    let mut lost = lost.into_iter().rev();
    let (_, lost) = lost.find(|&(one, position)| one == condition && position < wait)?;
    let enters = |call| matches!(call, monitor::Call::Enter | monitor::Call::Resume);
    let mut entered = calls()
        .filter(|&(position, _, call)| position > lost && position < wait && enters(call))
        .map(|(_, thread, _)| thread);
    let alone = entered.next() == Some(waiter) && entered.next().is_none();
    alone.then_some((lost, Why::BeforeTheLock))
}

/// Returns the position of an `unpark` that found the token set, for a parked thread.
fn token(execution: &Execution, waiter: ThreadId, object: ObjectId) -> Option<(usize, Why)> {
    let (mut token, mut lost) = (false, None);
    for (position, event) in execution.events.iter().enumerate() {
        match call_on(event, object) {
            Some(Call::Parker(parker::Call::Unpark)) => {
                let again = std::mem::replace(&mut token, true);
                lost = again.then_some((position, 0)).or(lost);
            }
            Some(Call::Parker(parker::Call::Park { .. })) => {
                token = false;
                // A later park takes the earlier token.
                lost = lost
                    .map(|(position, parks)| (position, parks + 1))
                    .filter(|&(_, parks)| parks < 2);
            }
            _ => {}
        }
    }
    let (position, _) = lost?;
    let foreign = execution.events[position].id.thread != waiter;
    foreign.then_some((position, Why::TokenThere))
}
