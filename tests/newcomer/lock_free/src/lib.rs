//! Lock-free structures whose published orderings are weaker than these: every operation is `SeqCst`.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::Ordering::*;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, fence};

/// No node, no hazard, not pinned.
const NONE: usize = 0;

/// Treiber's stack. Nodes are numbered from 1, and each is pushed once.
#[derive(Default)]
pub struct Stack {
    top: AtomicUsize,
    nodes: [UnsafeCell<(usize, u32)>; 4],
}

unsafe impl Sync for Stack {}

impl Stack {
    pub fn push(&self, node: usize, value: u32) {
        loop {
            let below = self.top.load(SeqCst);
            self.nodes[node].with_mut(|it| unsafe { *it = (below, value) });
            if self.top.compare_exchange(below, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    pub fn pop(&self) -> Option<u32> {
        loop {
            let node = self.top.load(SeqCst);
            if node == NONE {
                return None;
            }
            let (below, value) = self.nodes[node].with(|it| unsafe { *it });
            if self.top.compare_exchange(node, below, SeqCst, SeqCst).is_ok() {
                return Some(value);
            }
        }
    }
}

/// Vyukov's bounded queue of two slots, for many producers and consumers.
pub struct Queue {
    head: AtomicUsize,
    tail: AtomicUsize,
    turns: [AtomicUsize; 2],
    values: [UnsafeCell<u32>; 2],
}

unsafe impl Sync for Queue {}

impl Queue {
    pub fn new() -> Self {
        Queue {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            turns: [AtomicUsize::new(0), AtomicUsize::new(1)],
            values: Default::default(),
        }
    }

    /// False when the queue is full, or another thread is quicker.
    pub fn push(&self, value: u32) -> bool {
        let at = self.tail.load(SeqCst);
        if self.turns[at % 2].load(SeqCst) != at {
            return false;
        }
        if self.tail.compare_exchange(at, at + 1, SeqCst, SeqCst).is_err() {
            return false;
        }
        self.values[at % 2].with_mut(|slot| unsafe { *slot = value });
        self.turns[at % 2].store(at + 1, SeqCst); // filled
        true
    }

    /// `None` when the queue is empty, or another thread is quicker.
    pub fn pop(&self) -> Option<u32> {
        let at = self.head.load(SeqCst);
        if self.turns[at % 2].load(SeqCst) != at + 1 {
            return None;
        }
        if self.head.compare_exchange(at, at + 1, SeqCst, SeqCst).is_err() {
            return None;
        }
        let value = self.values[at % 2].with(|slot| unsafe { *slot });
        self.turns[at % 2].store(at + 2, SeqCst); // emptied
        Some(value)
    }
}

/// A sequence lock with one writer.
#[derive(Default)]
pub struct Sequence {
    version: AtomicUsize,
    left: AtomicUsize,
    right: AtomicUsize,
}

impl Sequence {
    pub fn write(&self, round: usize) {
        self.version.store(2 * round - 1, SeqCst);
        fence(SeqCst); // of the writer
        self.left.store(round, SeqCst);
        self.right.store(round, SeqCst);
        self.version.store(2 * round, SeqCst);
    }

    pub fn read(&self) -> Option<(usize, usize)> {
        let before = self.version.load(SeqCst);
        let left = self.left.load(SeqCst);
        let right = self.right.load(SeqCst);
        fence(SeqCst); // of the reader
        let after = self.version.load(SeqCst);
        (before % 2 == 0 && before == after).then_some((left, right))
    }
}

/// The queue lock of Mellor-Crummey and Scott, with a node for each thread.
#[derive(Default)]
pub struct Mcs {
    tail: AtomicUsize,
    next: [AtomicUsize; 4],
    waits: [AtomicBool; 4],
    data: UnsafeCell<u32>,
}

unsafe impl Sync for Mcs {}

impl Mcs {
    /// Adds under the lock; threads have numbers from 1.
    pub fn add(&self, me: usize) {
        self.next[me].store(NONE, SeqCst);
        self.waits[me].store(true, SeqCst);
        let before = self.tail.swap(me, SeqCst);
        if before != NONE {
            self.next[before].store(me, SeqCst);
            while self.waits[me].load(SeqCst) {
                raddle::hint::spin_loop();
            }
        }
        self.data.with_mut(|data| unsafe { *data += 1 });
        if self.next[me].load(SeqCst) == NONE {
            if self.tail.compare_exchange(me, NONE, SeqCst, SeqCst).is_ok() {
                return;
            }
            while self.next[me].load(SeqCst) == NONE {
                raddle::hint::spin_loop();
            }
        }
        let successor = self.next[me].load(SeqCst); // to wake
        self.waits[successor].store(false, SeqCst);
    }
}

/// A value behind a pointer that one thread replaces and another reads under a hazard pointer.
pub struct Hazard {
    current: AtomicUsize,
    hazard: AtomicUsize,
    values: [UnsafeCell<u32>; 3],
}

unsafe impl Sync for Hazard {}

impl Hazard {
    pub fn new() -> Self {
        Hazard {
            current: AtomicUsize::new(1),
            hazard: AtomicUsize::new(NONE),
            values: [0, 10, 0].map(UnsafeCell::new),
        }
    }

    /// `None` when the value was replaced in the meantime.
    pub fn read(&self) -> Option<u32> {
        let seen = self.current.load(SeqCst);
        self.hazard.store(seen, SeqCst);
        fence(SeqCst); // protects
        if self.current.load(SeqCst) != seen {
            return None;
        }
        let value = self.values[seen].with(|it| unsafe { *it });
        self.hazard.store(NONE, SeqCst);
        Some(value)
    }

    /// Replaces the value, and destroys the old one unless it is protected.
    pub fn replace(&self) {
        self.values[2].with_mut(|it| unsafe { *it = 20 });
        let old = self.current.swap(2, SeqCst);
        fence(SeqCst); // retires
        if self.hazard.load(SeqCst) != old {
            self.values[old].with_mut(|it| unsafe { *it = 0 });
        }
    }
}

/// A value behind a pointer that one thread replaces and another reads in an epoch.
pub struct Epochs {
    global: AtomicUsize,
    /// Epoch of the reader, plus one while it is pinned.
    local: AtomicUsize,
    current: AtomicUsize,
    values: [UnsafeCell<u32>; 3],
}

unsafe impl Sync for Epochs {}

impl Epochs {
    pub fn new() -> Self {
        Epochs {
            global: AtomicUsize::new(2),
            local: AtomicUsize::new(NONE),
            current: AtomicUsize::new(1),
            values: [0, 10, 0].map(UnsafeCell::new),
        }
    }

    pub fn read(&self) -> u32 {
        let epoch = self.global.load(SeqCst); // of the reader
        self.local.store(epoch + 1, SeqCst);
        fence(SeqCst); // pins
        let seen = self.current.load(SeqCst);
        let value = self.values[seen].with(|it| unsafe { *it });
        self.local.store(NONE, SeqCst);
        value
    }

    /// Replaces the value, and destroys the old one if the epoch can advance twice.
    pub fn replace(&self) {
        self.values[2].with_mut(|it| unsafe { *it = 20 });
        let old = self.current.swap(2, SeqCst);
        if self.advance() && self.advance() {
            self.values[old].with_mut(|it| unsafe { *it = 0 });
        }
    }

    fn advance(&self) -> bool {
        let epoch = self.global.load(SeqCst); // of the writer
        fence(SeqCst); // advances
        let local = self.local.load(SeqCst);
        if local != NONE && local != epoch + 1 {
            return false;
        }
        fence(SeqCst); // before the next epoch
        self.global.store(epoch + 1, SeqCst);
        true
    }
}
