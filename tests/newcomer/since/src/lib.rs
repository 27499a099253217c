//! A counter and a gate.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Counter {
    count: AtomicUsize,
}

impl Counter {
    pub fn add(&self) {
        self.count.fetch_add(1, SeqCst);
    }

    pub fn get(&self) -> usize {
        self.count.load(SeqCst)
    }
}

#[derive(Default)]
pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    pub fn pass(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }
}
