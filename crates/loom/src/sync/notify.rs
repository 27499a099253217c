//! A notification that one thread waits for.

use std::fmt;

use raddle::future::Signal;

/// A notification that one thread waits for and others give.
///
/// Notifications do not add up: a wait takes all that were given before.
pub struct Notify(Signal);

impl Notify {
    /// Creates one without a notification.
    #[track_caller]
    pub fn new() -> Notify {
        Notify(Signal::new("Notify"))
    }

    /// Notifies the waiting thread, or the next that waits.
    #[track_caller]
    pub fn notify(&self) {
        self.0.set();
    }

    /// Waits for a notification.
    #[track_caller]
    pub fn wait(&self) {
        self.0.wait();
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}
