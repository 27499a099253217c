//! Holding a thread where it is, from another one: it is sent a signal, and stays in the handler.
//!
//! A thread that is let go takes a while to leave its handler, and a signal may come so late that nobody
//! waits for it any more. So holds are numbered, and there is one signal on its way at most: the handler
//! that begins next is that of the last hold.

use crate::own_sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

/// How many holds there were. Only one thread holds others.
pub(crate) struct Grip {
    wanted: AtomicUsize,
    /// How many have begun: signals that have come.
    held: AtomicUsize,
    /// How many are over.
    let_go: AtomicUsize,
}

/// The number of a hold.
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

    /// The thread that gets a signal next is wanted; `None` if an earlier signal is still on its way.
    pub(crate) fn want(&self) -> Option<Hold> {
        let before = self.wanted.load(Relaxed);
        if self.held.load(Relaxed) != before {
            return None;
        }
        self.wanted.store(before + 1, Relaxed);
        Some(Hold(before + 1))
    }

    /// Whether the thread is held. What it did before is visible then.
    pub(crate) fn has(&self, hold: Hold) -> bool {
        self.held.load(Acquire) == hold.0
    }

    /// The thread may go on, now or when its signal comes. Who has looked at it is done with that.
    pub(crate) fn let_go(&self, hold: Hold) {
        self.let_go.store(hold.0, Release);
    }

    /// In the handler of the signal: stays until the thread is let go, unless the signal is not ours.
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
