//! Spurious wake-ups, spurious failures and time-outs: which are explored, and how often.
//!
//! Each is bounded, so that every search ends. The count belongs to the thread and depends only on
//! the thread's own past, so a replay has the same count.

use raddle_engine::Event;

use super::Context;

/// Maximum spurious wake-ups of a thread in one execution.
const MAX_SPURIOUS_WAKEUPS: u32 = 1;
/// Maximum spurious failures of a thread's weak compare-exchanges in one execution.
const MAX_SPURIOUS_FAILURES: u32 = 1;

/// The choices of the environment that are explored.
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
    /// True when the calling thread may wake up without a notification.
    #[inline]
    pub fn may_wake_spuriously(&self) -> bool {
        self.modelled.spurious_wakeups
            && self.slots.borrow()[self.thread.get().index()].spurious_wakeups
                < MAX_SPURIOUS_WAKEUPS
    }

    /// Counts a wake-up of the calling thread without a notification.
    #[inline]
    pub fn count_spurious_wakeup(&self) {
        self.slots.borrow_mut()[self.thread.get().index()].spurious_wakeups += 1;
    }

    /// True when a weak compare-exchange of the calling thread may fail although the value is the
    /// expected one.
    #[inline]
    pub fn may_fail_spuriously(&self) -> bool {
        self.modelled.weak_cas
            && self.slots.borrow()[self.thread.get().index()].spurious_failures
                < MAX_SPURIOUS_FAILURES
    }

    /// True when the last compare-exchange of the calling thread failed spuriously, which is then
    /// counted.
    #[inline]
    pub fn has_failed_spuriously(&self) -> bool {
        // After the execution has stopped, no event is recorded and no operation fails spuriously.
        let exploration = self.exploration.borrow();
        let last = exploration.execution().events.last();
        let failed = !self.stopped.get() && last.is_some_and(Event::fails_spuriously);
        if failed {
            self.slots.borrow_mut()[self.thread.get().index()].spurious_failures += 1;
        }
        failed
    }

    /// True when a wait may time out.
    #[inline]
    pub fn may_time_out(&self) -> bool {
        self.modelled.timeouts
    }
}
