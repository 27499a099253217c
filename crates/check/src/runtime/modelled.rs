//! What may or may not happen to a program through no doing of its own, and how often.
//!
//! Each is bounded, so that every search ends; the count belongs to the thread and depends on
//! nothing but the thread's own past, so a replay finds it the same.

use raddle_engine::Event;

use super::Context;

/// How often a thread may wake up spuriously in one execution.
const MAX_SPURIOUS_WAKEUPS: u32 = 1;
/// How often a weak compare-exchange of a thread may fail spuriously in one execution.
const MAX_SPURIOUS_FAILURES: u32 = 1;

/// Which of these things are explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modelled {
    pub(crate) spurious_wakeups: bool,
    pub(crate) timeouts: bool,
    pub(crate) weak_cas: bool,
}

impl Default for Modelled {
    fn default() -> Self {
        Modelled {
            spurious_wakeups: true,
            timeouts: true,
            weak_cas: true,
        }
    }
}

impl Context {
    /// Whether the calling thread may wake up without a notification.
    #[inline]
    pub fn may_wake_spuriously(&self) -> bool {
        self.modelled.spurious_wakeups
            && self.slots.borrow()[self.thread.get().index()].spurious_wakeups
                < MAX_SPURIOUS_WAKEUPS
    }

    /// The calling thread has woken up without a notification.
    #[inline]
    pub fn count_spurious_wakeup(&self) {
        self.slots.borrow_mut()[self.thread.get().index()].spurious_wakeups += 1;
    }

    /// Whether a weak compare-exchange of the calling thread may fail although the value is the
    /// expected one.
    #[inline]
    pub fn may_fail_spuriously(&self) -> bool {
        self.modelled.weak_cas
            && self.slots.borrow()[self.thread.get().index()].spurious_failures
                < MAX_SPURIOUS_FAILURES
    }

    /// Whether the compare-exchange that the calling thread has just done failed like that, which
    /// then is counted.
    #[inline]
    pub fn has_failed_spuriously(&self) -> bool {
        // After the execution stopped, nothing is recorded and nothing unexpected happens.
        let exploration = self.exploration.borrow();
        let last = exploration.execution().events.last();
        let failed = !self.stopped.get() && last.is_some_and(Event::fails_spuriously);
        if failed {
            self.slots.borrow_mut()[self.thread.get().index()].spurious_failures += 1;
        }
        failed
    }

    /// Whether the time of a wait may run out.
    #[inline]
    pub fn may_time_out(&self) -> bool {
        self.modelled.timeouts
    }
}
