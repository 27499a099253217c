//! Structures whose weakest orderings are known, with stronger ones than they need.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::Ordering::{Relaxed, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicUsize, fence};
use raddle::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Spin {
    locked: AtomicBool,
    data: UnsafeCell<u32>,
}

unsafe impl Sync for Spin {}

impl Spin {
    pub fn add(&self) -> u32 {
        while self.locked.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            raddle::hint::spin_loop();
        }
        let new = self.data.with_mut(|data| unsafe {
            *data += 1;
            *data
        });
        self.locked.store(false, SeqCst);
        new
    }
}

#[derive(Default)]
pub struct Ticket {
    next: AtomicUsize,
    serving: AtomicUsize,
    data: UnsafeCell<u32>,
}

unsafe impl Sync for Ticket {}

impl Ticket {
    pub fn add(&self) {
        let mine = self.next.fetch_add(1, SeqCst);
        while self.serving.load(SeqCst) != mine {
            raddle::hint::spin_loop();
        }
        self.data.with_mut(|data| unsafe { *data += 1 });
        self.serving.store(mine + 1, SeqCst);
    }
}

#[derive(Default)]
pub struct Ring {
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: [UnsafeCell<u32>; 2],
}

unsafe impl Sync for Ring {}

impl Ring {
    pub fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - self.head.load(SeqCst) == 2 {
            return false;
        }
        self.slots[tail % 2].with_mut(|slot| unsafe { *slot = value });
        self.tail.store(tail + 1, SeqCst);
        true
    }

    pub fn pop(&self) -> Option<u32> {
        let head = self.head.load(SeqCst);
        if head == self.tail.load(SeqCst) {
            return None;
        }
        let value = self.slots[head % 2].with(|slot| unsafe { *slot });
        self.head.store(head + 1, SeqCst);
        Some(value)
    }
}

/// A counted value: the last owner changes it alone.
pub struct Counted {
    owners: AtomicUsize,
    data: UnsafeCell<u32>,
}

unsafe impl Sync for Counted {}

impl Counted {
    pub fn new() -> Self {
        Counted {
            owners: AtomicUsize::new(1),
            data: UnsafeCell::new(7),
        }
    }

    pub fn share(&self) {
        self.owners.fetch_add(1, SeqCst);
    }

    pub fn read(&self) -> u32 {
        self.data.with(|data| unsafe { *data })
    }

    pub fn release(&self) {
        if self.owners.fetch_sub(1, SeqCst) == 1 {
            self.data.with_mut(|data| unsafe { *data = 0 });
        }
    }
}

/// Dekker's entry: one at most comes in.
pub fn enters(mine: &AtomicBool, other: &AtomicBool) -> bool {
    mine.store(true, SeqCst);
    fence(SeqCst);
    !other.load(SeqCst)
}

/// Load buffering: the tests cannot tell, because the memory model has none.
pub fn buffers(first: &AtomicBool, second: &AtomicBool) -> bool {
    let seen = first.load(SeqCst);
    second.store(true, SeqCst);
    seen
}

#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    pub fn pass(&self) {
        let mut open = self.open.lock().unwrap();
        while !*open {
            open = self.changed.wait(open).unwrap();
        }
    }
}

/// No test needs this, and no test would notice.
pub fn count(calls: &AtomicUsize) -> usize {
    calls.fetch_add(1, Relaxed)
}
