//! Notifications that came before anybody waited, and the waits that never end because of them.
//!
//! A notification that finds nobody is nothing unusual: whoever comes later looks at the condition
//! and does not wait. So it is called lost only if the thread that waits for ever cannot have seen
//! what was notified: it took the lock, as the first to do so since, and waited without a look at
//! anything; or it had the lock already, and something was changed without the lock; or it looked,
//! and what it waits for may have been changed after that. What the condition is cannot be seen.

use super::notified;
use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::base::reply::Grant;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, condvar, monitor, mutex, parker};

/// A wait that never ends, and the notification that it missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWakeup {
    /// Who waits.
    pub waiter: ThreadId,
    /// For what.
    pub object: ObjectId,
    /// Who notified.
    pub notifier: ThreadId,
    /// Where.
    pub notified: SiteId,
    /// Why nobody noticed.
    pub why: Why,
}

/// Why a notification was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The waiter came later, and waited all the same.
    BeforeTheLock,
    /// The waiter had the lock already and was about to wait.
    UnderTheLock {
        /// The lock.
        lock: ObjectId,
        /// Where it was taken.
        since: SiteId,
    },
    /// The waiter looked, and the lock was taken once more when it waited: the notification came too
    /// early.
    BeforeTheChange {
        /// The lock.
        lock: ObjectId,
        /// Who took it.
        by: ThreadId,
        /// Where.
        taken: SiteId,
    },
    /// An earlier one had not been taken yet, and a thread has no more than one token.
    TokenThere,
}

/// The first thread that waits for ever because of a lost notification, if there is one.
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
                notifier: notification.id.thread,
                notified: notification.site,
                why,
            })
        })
}

/// The call of an event, if it is one on this object.
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

/// For a thread that waits for a condition variable: the notification, by position.
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
    // Whoever made the change has notified, and reached another.
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

/// For a thread that waits for a condition of a monitor: the signal, by position.
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
    // Signalled, and now it cannot get in again: that is another story.
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

/// For a parked thread: an `unpark` that found the token there, by position.
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
                // It parked once more since, which takes the token that was there.
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
