//! A lock that any OS thread may use, without the C library and without thread-local storage.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value with one user at a time; others spin.
pub(crate) struct Lock<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only accessed by the one thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Lock {
            is_taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Calls the function with the value. It must not use the lock again.
    #[inline]
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        while self.is_taken.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: this thread holds the lock, so that there is no other reference.
        let result = use_it(unsafe { &mut *self.value.get() });
        self.is_taken.store(false, Ordering::Release);
        result
    }
}
