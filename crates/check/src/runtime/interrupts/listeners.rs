//! Who listens to signals, and whether one came.
//!
//! The first who comes has the process listen, and the last who goes has it do so no longer. A signal that
//! came meanwhile is passed on then: not before everybody has gone, and once.

use crate::own_sync::atomic::{AtomicI32, Ordering::Relaxed};
use crate::own_sync::{Mutex, MutexGuard, PoisonError};

/// Searches that want to be saved before the process ends.
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

    /// In the handler: a signal has come.
    pub(crate) fn note(&self, signal: i32) {
        self.came.store(signal, Relaxed);
    }

    /// Whether a signal has come.
    #[inline]
    pub(crate) fn came(&self) -> bool {
        self.came.load(Relaxed) != 0
    }

    /// One more listens; `listen` has the process do so.
    pub(crate) fn join(&self, listen: impl FnOnce()) {
        let mut count = self.count();
        *count += 1;
        if *count == 1 && !self.came() {
            listen();
        }
    }

    /// One has been saved, or has come to its end: `stop` undoes what `listen` did, and `pass_on` lets a
    /// signal that came do what it does.
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
