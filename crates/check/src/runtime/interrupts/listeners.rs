//! The searches that listen for signals, and the signal that came.
//!
//! The first listener installs the handlers of the process and the last one removes them. A signal
//! that came meanwhile is then raised again, once, after all listeners have left.

use crate::own_sync::atomic::{AtomicI32, Ordering::Relaxed};
use crate::own_sync::{Mutex, MutexGuard, PoisonError};

/// The number of searches to be saved before the process ends.
pub(crate) struct Listeners {
    /// The signal that came; 0 if none did.
    came: AtomicI32,
    count: Mutex<usize>,
}

impl Listeners {
    pub(crate) const fn new() -> Self {
        Listeners {
            came: AtomicI32::new(0),
            count: Mutex::new(0),
        }
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a signal, in the handler.
    pub(crate) fn note(&self, signal: i32) {
        self.came.store(signal, Relaxed);
    }

    /// True when a signal has come.
    #[inline]
    pub(crate) fn came(&self) -> bool {
        self.came.load(Relaxed) != 0
    }

    /// Adds a listener; `listen` installs the handlers if it is the first.
    pub(crate) fn join(&self, listen: impl FnOnce()) {
        let mut count = self.count();
        *count += 1;
        if *count == 1 && !self.came() {
            listen();
        }
    }

    /// Removes a listener that has been saved or has ended. For the last one `stop` removes the
    /// handlers, and `pass_on` raises a signal that came.
    pub(crate) fn leave(&self, stop: impl FnOnce(), pass_on: impl FnOnce(i32)) {
        let mut count = self.count();
        *count -= 1;
        if *count > 0 {
            return;
        }
        stop();
        let came = self.came.load(Relaxed);
        if came != 0 {
            pass_on(came);
        }
    }
}
