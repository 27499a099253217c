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

    /// Creates the token of a task without it.
    #[cfg(not(feature = "check"))]
    pub(crate) const fn of_task(future: &'static str) -> Self {
        Signal::new(future)
    }

    /// Sets the token.
    pub(crate) fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
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
