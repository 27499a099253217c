//! Waits on condition variables.
//!
//! A wait is up to four operations: the thread becomes a waiter, unlocks the lock, wakes up and
//! locks the lock again. `raddle_engine::object::condvar` has the reason why the first two may be
//! separate, and the source of spurious wake-ups.

use std::ops::ControlFlow;
use std::time::Duration;

use raddle_engine::Reply;
use raddle_engine::object::condvar::Call;

use super::Perform;

/// A wait on one condition variable, with the operations that differ between front ends.
pub struct Wait<T, C> {
    /// The maximum time of the wait; evaluated when it has run out.
    pub time: Option<T>,
    /// True when the thread may wake up without a notification, if the check models that.
    pub spurious: bool,
    /// True when the thread has used the data of the lock since it took the lock.
    pub looked: bool,
    /// Calls the condition variable.
    pub call: C,
}

impl<T: Fn() -> Duration, C: Fn(Call) -> Reply> Wait<T, C> {
    /// Waits for a notification; returns the result of `lock`. `unlock` releases the lock, and
    /// `lock` takes it again, with true if the wait timed out.
    #[inline]
    pub fn run<P: Perform, L, R>(
        self,
        runtime: P,
        unlock: impl FnOnce() -> L,
        lock: impl FnOnce(L, bool) -> R,
    ) -> R {
        let timeout = self.time.is_some() && runtime.may_time_out();
        let reply = (self.call)(first(runtime, self.spurious, self.looked));
        let waiter = Waiter::new(timeout, reply);
        self.finish(waiter, runtime, unlock, lock)
    }

    /// Performs the other operations of [`Wait::run`].
    #[inline]
    pub fn finish<P: Perform, L, R>(
        self,
        waiter: Waiter,
        runtime: P,
        unlock: impl FnOnce() -> L,
        lock: impl FnOnce(L, bool) -> R,
    ) -> R {
        let unlocked = unlock();
        let timed_out = if waiter.woken_up {
            runtime.count_spurious_wakeup();
            false
        } else {
            self.wake(runtime, waiter.timeout)
        };
        lock(unlocked, timed_out)
    }

    /// Waits for a notification unless `condition`, which is evaluated as a waiter, breaks; returns
    /// true if the wait timed out. The condition takes the place of the lock: a change that it does
    /// not read is followed by a notification that the waiter receives. A waiter that leaves early
    /// after a notification has reached it calls `renotify`.
    #[inline]
    pub fn unless<P: Perform, B>(
        self,
        runtime: P,
        condition: impl FnOnce() -> ControlFlow<B>,
        renotify: impl FnOnce(),
    ) -> ControlFlow<Left<B>, bool> {
        (self.call)(first(runtime, self.spurious, self.looked));
        if let ControlFlow::Break(reason) = condition() {
            let notified = !(self.call)(Call::Wake { timeout: true }).to_answer();
            if notified {
                renotify();
            }
            return ControlFlow::Break(Left { reason, notified });
        }
        let timeout = self.time.is_some() && runtime.may_time_out();
        ControlFlow::Continue(self.wake(runtime, timeout))
    }

    /// Waits for the notification; returns true when the time ran out before it.
    fn wake(&self, runtime: impl Perform, timeout: bool) -> bool {
        let timed_out = (self.call)(Call::Wake { timeout }).to_answer();
        if let Some(time) = self.time.as_ref().filter(|_| timed_out) {
            runtime.pass_time(time());
        }
        timed_out
    }
}

/// Returns the first call of a wait, by which the thread becomes a waiter.
#[inline(always)]
pub fn first(runtime: impl Perform, spurious: bool, looked: bool) -> Call {
    Call::Wait {
        spurious: spurious && runtime.may_wake_spuriously(),
        looked,
    }
}

/// A thread that has become a waiter.
pub struct Waiter {
    /// True when the time may run out.
    timeout: bool,
    /// True when the wait is over at once, without a notification.
    woken_up: bool,
}

impl Waiter {
    /// Creates a waiter from the reply of its first call; `timeout` is true if the wait may time
    /// out.
    #[inline(always)]
    pub fn new(timeout: bool, reply: Reply) -> Self {
        Waiter {
            timeout,
            woken_up: reply.to_answer(),
        }
    }
}

/// A waiter that left before the wait.
pub struct Left<B> {
    /// The reason that the condition gave.
    pub reason: B,
    /// True when a notification had reached the waiter.
    pub notified: bool,
}
