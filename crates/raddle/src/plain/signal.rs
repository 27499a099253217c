//! A token that threads set and wait for.

use crate::own_sync::{Condvar, Mutex, PoisonError};

/// One token: [`set`](Self::set) sets it, [`wait`](Self::wait) waits until it is set and takes it.
pub(crate) struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Creates one without its token.
    pub(crate) const fn new(_kind: &'static str) -> Self {
        Signal {
            is_set: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Sets the token.
    pub(crate) fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Takes the token, after waiting for it, as the controlled one does that may wake up spuriously.
    #[cfg(not(feature = "check"))]
    pub(crate) fn wait_or_wake_spuriously(&self, _place: &'static std::panic::Location<'static>) {
        self.wait();
    }

    /// Takes the token, after waiting for it.
    pub(crate) fn wait(&self) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        while !std::mem::take(&mut *is_set) {
            is_set = self
                .changed
                .wait(is_set)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
