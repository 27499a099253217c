//! A waker that one task registers and others call.

use std::sync::PoisonError;
use std::task::Waker;

use crate::sync::{Mutex, MutexGuard};

/// The waker of one task, which other threads call, as `AtomicWaker` of the crates `futures` and
/// `tokio`.
///
/// A task registers its waker, then looks for the change that it waits for. Another thread makes the
/// change, then calls [`wake`](Self::wake). One of the two sees the other: no wake-up is lost.
#[derive(Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Creates one without a waker.
    #[cfg_attr(feature = "check", track_caller)]
    #[must_use]
    pub const fn new() -> Self {
        AtomicWaker {
            waker: Mutex::new(None),
        }
    }

    /// Registers the waker of the task, in place of the last one.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let earlier = self.lock().replace(waker);
        // Its drop may run code of the user, which may need the lock.
        drop(earlier);
    }

    /// Registers a clone of the waker of the task.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task that has registered last, if it was not woken since.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker, to call it later.
    #[track_caller]
    #[must_use]
    pub fn take_waker(&self) -> Option<Waker> {
        self.lock().take()
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtomicWaker").finish_non_exhaustive()
    }
}
