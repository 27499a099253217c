//! Choices of the environment that the calling thread may have, by the world's
//! [`Policy`](raddle_engine::Policy).

use super::Context;

impl Context {
    /// True when the calling thread's next wait may end without a notification.
    #[inline]
    pub fn may_wake_spuriously(&self) -> bool {
        let thread = self.thread.get();
        self.with_world(|world| world.may_wake_spuriously(thread))
    }

    /// Counts a spurious wake-up of the calling thread.
    #[inline]
    pub fn count_spurious_wakeup(&self) {
        let thread = self.thread.get();
        self.with_world(|world| world.count_spurious_wakeup(thread));
    }

    /// True when the calling thread's next weak compare-exchange may fail spuriously.
    #[inline]
    pub fn may_fail_spuriously(&self) -> bool {
        let thread = self.thread.get();
        self.with_world(|world| world.may_fail_spuriously(thread))
    }

    /// True when the calling thread's last compare-exchange failed spuriously, which then is counted.
    #[inline]
    pub fn has_failed_spuriously(&self) -> bool {
        let thread = self.thread.get();
        // After the execution stopped, nothing is recorded and nothing fails spuriously.
        !self.has_stopped() && self.with_world(|world| world.has_failed_spuriously(thread))
    }

    /// True when a wait with a limit may end by it.
    #[inline]
    pub fn may_time_out(&self) -> bool {
        self.with_world(|world| world.policy().timeouts)
    }
}
