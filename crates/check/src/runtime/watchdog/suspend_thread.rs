//! Suspends a thread from another one: it is sent a signal, and stays in the handler.
//!
//! A released thread takes a while to leave its handler, and a signal may come after the suspender
//! has stopped waiting. So suspensions are numbered, and at most one signal is pending: the next
//! handler to begin is that of the last suspension.

use crate::own_sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// The number of suspensions. Only one thread suspends others.
pub(crate) struct Suspensions {
    wanted: AtomicUsize,
    /// Number of suspensions that have begun: signals that have come.
    begun: AtomicUsize,
    /// Number of suspensions that are over.
    released: AtomicUsize,
}

/// The number of a suspension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Suspension(usize);

impl Suspensions {
    pub(crate) const fn new() -> Self {
        Suspensions {
            wanted: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            released: AtomicUsize::new(0),
        }
    }

    /// Requests the suspension of the thread that gets the next signal; `None` if an earlier signal
    /// is still pending.
    pub(crate) fn request(&self) -> Option<Suspension> {
        let before = self.wanted.load(Relaxed);
        if self.begun.load(Relaxed) != before {
            return None;
        }
        self.wanted.store(before + 1, Relaxed);
        Some(Suspension(before + 1))
    }

    /// True when the thread is suspended. Its earlier writes are visible then.
    pub(crate) fn is_suspended(&self, suspension: Suspension) -> bool {
        self.begun.load(Acquire) == suspension.0
    }

    /// Releases the thread, now or when its signal comes. The caller no longer reads the thread's
    /// data.
    pub(crate) fn release(&self, suspension: Suspension) {
        self.released.store(suspension.0, Release);
    }

    /// In the signal handler: stays until the thread is released, unless the signal is not ours.
    pub(crate) fn wait_in_handler(&self, note: impl FnOnce(), pause: impl Fn()) {
        let suspension = self.wanted.load(Relaxed);
        if self.begun.load(Relaxed) == suspension {
            return;
        }
        note();
        self.begun.store(suspension, Release);
        while self.released.load(Acquire) < suspension {
            pause();
        }
    }
}
