//! An account and a counter, whose tests leave gaps.
#![deny(warnings)]

use raddle::sync::Mutex;
use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::Relaxed;

#[derive(Default)]
pub struct Account {
    cents: Mutex<u32>,
}

impl Account {
    pub fn deposit(&self, amount: u32) {
        *self.cents.lock().unwrap() += amount;
    }

    pub fn balance(self) -> u32 {
        self.cents.into_inner().unwrap_or_default()
    }

    /// No test calls this.
    pub fn count(calls: &AtomicU32) {
        calls.fetch_add(1, Relaxed);
    }
}

/// Counts down.
pub fn drain(left: &AtomicU32) {
    while left.load(Relaxed) > 0 {
        left.store(left.load(Relaxed) - 1, Relaxed);
    }
    let name = "left";
    note(name, left);
}

fn note(_name: &str, _value: &AtomicU32) {}
