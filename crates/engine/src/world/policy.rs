//! Policy of choices that the program does not make itself: spurious wake-ups, time-outs and spurious
//! failures of weak compare-exchanges.
//!
//! Each is bounded per thread and execution, so that every search ends. The counts depend on nothing but
//! the thread's own past, so a replay of the same schedule makes the same choices.

use super::World;
use super::strategy::Dispatch;
use crate::base::ids::ThreadId;
use crate::model::event::Event;

/// Maximum spurious wake-ups of a thread per execution. One shows a wait outside of a loop; each more
/// multiplies the classes of every wait.
const MAX_SPURIOUS_WAKEUPS: u8 = 1;
/// Maximum spurious failures of a thread's weak compare-exchanges per execution. One shows a missing
/// loop.
const MAX_SPURIOUS_FAILURES: u8 = 1;

/// Choices of the environment that are explored. All are by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Waits may end without a notification.
    pub spurious_wakeups: bool,
    /// Waits with a limit may end by it.
    pub timeouts: bool,
    /// Weak compare-exchanges may fail although the value is the expected one.
    pub weak_cas: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            spurious_wakeups: true,
            timeouts: true,
            weak_cas: true,
        }
    }
}

/// Number of spurious choices that a thread had in the running execution.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpuriousCounts {
    wakeups: u8,
    failures: u8,
}

impl<D: Dispatch> World<D> {
    /// Returns the same world under another policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        World { policy, ..self }
    }

    /// Returns the policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// True when the thread's next wait may end without a notification.
    #[inline]
    pub fn may_wake_spuriously(&self, thread: ThreadId) -> bool {
        let counts = &self.state.threads[thread.index()].spurious;
        self.policy.spurious_wakeups && counts.wakeups < MAX_SPURIOUS_WAKEUPS
    }

    /// Counts a spurious wake-up of the thread.
    #[inline]
    pub fn count_spurious_wakeup(&mut self, thread: ThreadId) {
        self.state.threads[thread.index()].spurious.wakeups += 1;
    }

    /// True when the thread's next weak compare-exchange may fail although the value is the expected
    /// one.
    #[inline]
    pub fn may_fail_spuriously(&self, thread: ThreadId) -> bool {
        let counts = &self.state.threads[thread.index()].spurious;
        self.policy.weak_cas && counts.failures < MAX_SPURIOUS_FAILURES
    }

    /// True when the last event is a spurious failure of the thread's compare-exchange, which then is
    /// counted.
    #[inline]
    pub fn has_failed_spuriously(&mut self, thread: ThreadId) -> bool {
        let last = self.state.execution.events.last();
        let failed = last.is_some_and(Event::fails_spuriously);
        if failed {
            self.state.threads[thread.index()].spurious.failures += 1;
        }
        failed
    }
}
