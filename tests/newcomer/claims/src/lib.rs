//! Code whose tests tempt `cargo raddle mutants` to claim too much.

#[cfg(test)]
mod names;

use raddle::sync::Mutex;
use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A value and whether it is there.
#[derive(Default)]
pub struct Slot {
    value: AtomicU32,
    full: AtomicU32,
}

impl Slot {
    pub fn put(&self, value: u32) {
        self.value.store(value, Relaxed);
        self.full.store(1, Release);
    }

    pub fn get(&self) -> Option<u32> {
        let is_full = self.full.load(Acquire) == 1;
        is_full.then(|| self.value.load(Relaxed))
    }
}

/// Two numbers that are raised together.
#[derive(Default)]
pub struct Pair {
    lock: Mutex<()>,
    first: AtomicU32,
    second: AtomicU32,
}

impl Pair {
    pub fn raise(&self) {
        let _guard = self.lock.lock().unwrap();
        self.first.store(1, Relaxed);
        self.second.store(1, Relaxed);
    }

    /// Returns the second and the first, in the order of their reads.
    pub fn read(&self) -> (u32, u32) {
        let _guard = self.lock.lock().unwrap();
        (self.second.load(Relaxed), self.first.load(Relaxed))
    }
}
