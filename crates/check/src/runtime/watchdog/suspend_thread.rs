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
pub(crate) struct Grip {
    wanted: AtomicUsize,
    /// Number of suspensions that have begun: signals that have come.
    held: AtomicUsize,
    /// Number of suspensions that are over.
    let_go: AtomicUsize,
}

/// The number of a suspension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hold(usize);

impl Grip {
    pub(crate) const fn new() -> Self {
        Grip {
            wanted: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            let_go: AtomicUsize::new(0),
        }
    }

    /// Requests the suspension of the thread that gets the next signal; `None` if an earlier signal
    /// is still pending.
    pub(crate) fn want(&self) -> Option<Hold> {
        let before = self.wanted.load(Relaxed);
        if self.held.load(Relaxed) != before {
            return None;
        }
        self.wanted.store(before + 1, Relaxed);
        Some(Hold(before + 1))
    }

    /// True when the thread is suspended. Its earlier writes are visible then.
    pub(crate) fn has(&self, hold: Hold) -> bool {
        self.held.load(Acquire) == hold.0
    }

    /// Releases the thread, now or when its signal comes. The caller no longer reads the thread's
    /// data.
    pub(crate) fn let_go(&self, hold: Hold) {
        self.let_go.store(hold.0, Release);
    }

    /// In the signal handler: stays until the thread is released, unless the signal is not ours.
    pub(crate) fn stay(&self, note: impl FnOnce(), pause: impl Fn()) {
        let hold = self.wanted.load(Relaxed);
        if self.held.load(Relaxed) == hold {
            return;
        }
        note();
        self.held.store(hold, Release);
        while self.let_go.load(Acquire) < hold {
            pause();
        }
    }
}
