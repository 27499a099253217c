//! A condition variable with std's surface.
//!
//! Inside a check, the operations of a wait are those of [`raddle_check::protocol::condvar`].

use std::fmt;
use std::panic::Location;
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

use raddle_engine::object::{self, Object, condvar::Call};
use raddle_engine::{ObjectId, Operation, Reply, World};

use super::mutex::{MutexGuard, WideBool};
use crate::labelled::{Labelled, Thing};
use raddle_check::protocol::{
    self,
    condvar::{Wait, Waiter, first},
};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Made};

/// A condition variable, as [`std::sync::Condvar`].
///
/// Inside a check, the waiter that a notification wakes is one of the choices that the engine
/// explores. So are spurious wake-ups, at most one for every thread and execution
/// ([`Checker::spurious_wakeups`](crate::Checker::spurious_wakeups)), and time-outs before a
/// notification ([`Checker::timeouts`](crate::Checker::timeouts)). After a time-out the time has
/// passed on the thread's [clock](crate::time::Instant). Outside a check, this is std's.
pub struct Condvar {
    identity: Identity,
    made: Made,
    /// Used outside checks.
    plain: std::sync::Condvar,
}

/// Result of a wait with a time limit, as [`std::sync::WaitTimeoutResult`].
#[derive(PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(WideBool);

impl WaitTimeoutResult {
    /// True when the wait timed out before a notification.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0.get()
    }
}

impl fmt::Debug for WaitTimeoutResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed_out = self.timed_out();
        f.debug_tuple("WaitTimeoutResult")
            .field(&timed_out)
            .finish()
    }
}

impl Condvar {
    /// Creates a condition variable without waiters.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Condvar {
            identity: Identity::new(),
            made: Made {
                kind: "Condvar",
                place: Location::caller(),
            },
            plain: std::sync::Condvar::new(),
        }
    }

    /// Unlocks the guard's mutex, waits for a notification and locks the mutex again; returns an
    /// error if it is poisoned then. May also wake up without a notification.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let result = match guard.context() {
            Some(context) => self.wait_inside(context, guard, None, Location::caller()),
            None => {
                self.wait_is_outside(Location::caller());
                guard
                    .wait_outside(|raw| (ignore_poison(self.plain.wait(raw)), WideBool::new(false)))
            }
        };
        map(result, |(guard, _)| guard)
    }

    /// Waits until the condition no longer holds.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification, with the maximum time in milliseconds; returns true if there was
    /// one.
    #[deprecated(
        since = "1.6.0",
        note = "replaced by `std::sync::Condvar::wait_timeout`"
    )]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(ms.into()));
        map(result, |(guard, result)| (guard, !result.timed_out()))
    }

    /// Waits for a notification, for `dur` at most. May also wake up before either.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = match guard.context() {
            Some(context) => self.wait_inside(context, guard, Some(dur), Location::caller()),
            None => {
                self.wait_is_outside(Location::caller());
                guard.wait_outside(|raw| {
                    let (raw, result) = ignore_poison(self.plain.wait_timeout(raw, dur));
                    (raw, WideBool::new(result.timed_out()))
                })
            }
        };
        map(result, |(guard, timed_out)| {
            (guard, WaitTimeoutResult(timed_out))
        })
    }

    /// Waits until the condition no longer holds, for `dur` at most.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        // Inside a check time passes by waiting only, so it has run out when a wait times out.
        let start = guard.context().is_none().then(Instant::now);
        let mut left = Some(dur);
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(WideBool::new(false))));
            }
            let Some(timeout) = left else {
                return Ok((guard, WaitTimeoutResult(WideBool::new(true))));
            };
            let result;
            (guard, result) = self.wait_timeout(guard, timeout)?;
            left = match start {
                Some(start) => dur.checked_sub(start.elapsed()),
                None => (!result.timed_out()).then_some(dur),
            };
        }
    }

    /// Wakes one waiter, if there is one.
    #[track_caller]
    pub fn notify_one(&self) {
        match using(&self.identity, &self.made, Location::caller()) {
            None => self.plain.notify_one(),
            Some(context) => {
                self.call(context, Location::caller(), Call::NotifyOne);
            }
        }
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        match using(&self.identity, &self.made, Location::caller()) {
            None => self.plain.notify_all(),
            Some(context) => {
                self.call(context, Location::caller(), Call::NotifyAll);
            }
        }
    }

    /// Registers a wait of the calling thread outside every check. A separate function, so that the
    /// stack frames of waits inside are as small as possible.
    #[inline(never)]
    fn wait_is_outside(&self, place: &'static Location<'static>) {
        using(&self.identity, &self.made, place);
    }

    /// Waits as a modelled thread; returns the guard, and true when the wait timed out.
    fn wait_inside<'a, T>(
        &self,
        context: &Context,
        guard: MutexGuard<'a, T>,
        dur: Option<Duration>,
        place: &'static Location<'static>,
    ) -> LockResult<(MutexGuard<'a, T>, WideBool)> {
        let timeout = dur.is_some() && context.may_time_out();
        context.clear_below();
        let looked = guard.has_looked();
        let first = first(context, true, looked);
        // A loop may repeat a wait that times out, and the data is part of the state that is
        // compared. So is this frame: it has no padding, whose bytes would differ from round to
        // round.
        let reply = match timeout {
            true => context.observe_beside(place, guard.data(), |world| Operation::Call {
                object: self.object(context, world),
                call: first.into(),
            }),
            false => self.call(context, place, first),
        };
        let waiter = Waiter::new(timeout, reply);
        let (lock, timed_out) = context.apart(|| {
            let wait = Wait {
                time: dur.map(|dur| move || dur),
                spurious: true,
                looked,
                call: |call| self.call(context, place, call),
            };
            let unlock = || guard.give_back(context, place);
            wait.finish(waiter, context, unlock, |lock, timed_out| {
                (lock, WideBool::new(timed_out))
            })
        });
        // So may it repeat the lock, before which the data is not part of its state.
        let guard = match timeout {
            true => lock.take_again(context, place),
            false => context.apart(|| lock.take(place)),
        };
        map(guard, |guard| (guard, timed_out))
    }

    fn object(&self, context: &Context, world: &mut World) -> ObjectId {
        let state = || Object::Condvar(object::condvar::Condvar::default());
        context.object(world, &self.identity, self.made, state)
    }

    fn call(&self, context: &Context, place: &'static Location<'static>, call: Call) -> Reply {
        protocol::call(context, place, call, |world| self.object(context, world))
    }
}

/// Returns the guard of std's lock, whose own poison is not used.
fn ignore_poison<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}

fn map<A, B>(result: LockResult<A>, change: impl FnOnce(A) -> B) -> LockResult<B> {
    match result {
        Ok(value) => Ok(change(value)),
        Err(poisoned) => Err(PoisonError::new(change(poisoned.into_inner()))),
    }
}

impl Labelled for Condvar {
    fn thing(&self) -> Thing<'_> {
        let state = Object::Condvar(object::condvar::Condvar::default());
        Thing::object(&self.identity, self.made, state)
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}
