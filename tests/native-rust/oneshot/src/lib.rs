//! A value that one thread waits for and another one brings.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};

pub struct Slot<T> {
    value: Mutex<Option<T>>,
    is_full: AtomicBool,
    waiter: Thread,
}

impl<T> Slot<T> {
    /// For the calling thread to wait at.
    pub fn new() -> Self {
        Slot {
            value: Mutex::new(None),
            is_full: AtomicBool::new(false),
            waiter: thread::current(),
        }
    }

    pub fn fill(&self, value: T) {
        *self.value.lock().unwrap() = Some(value);
        self.is_full.store(true, SeqCst);
        self.waiter.unpark();
    }

    /// Wakes the waiter before there is something to see.
    pub fn fill_late(&self, value: T) {
        *self.value.lock().unwrap() = Some(value);
        self.waiter.unpark();
        self.is_full.store(true, SeqCst);
    }

    pub fn wait(&self) -> T {
        while !self.is_full.load(SeqCst) {
            thread::park();
        }
        self.value.lock().unwrap().take().unwrap()
    }

    /// Takes every unpark for the one that follows the filling of the slot.
    pub fn wait_once(&self) -> T {
        thread::park();
        self.value.lock().unwrap().take().expect("it was filled")
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn brought(fill: fn(&Slot<u32>, u32), wait: fn(&Slot<u32>) -> u32) {
        let slot = Arc::new(Slot::new());
        let other = Arc::clone(&slot);
        let bringer = thread::spawn(move || fill(&other, 7));
        assert_eq!(wait(&slot), 7);
        bringer.join().unwrap();
    }

    #[test]
    fn the_value_arrives() {
        brought(Slot::fill, Slot::wait);
    }

    #[test]
    fn the_value_arrives_late() {
        brought(Slot::fill_late, Slot::wait);
    }

    fn two_values(wait: fn(&Slot<u32>) -> u32) {
        let slots = Arc::new([Slot::new(), Slot::new()]);
        let bringers = [0, 1].map(|number| {
            let slots = Arc::clone(&slots);
            thread::spawn(move || slots[number].fill(7))
        });
        assert_eq!(wait(&slots[0]) + wait(&slots[1]), 14);
        for bringer in bringers {
            bringer.join().unwrap();
        }
    }

    #[test]
    fn two_values_arrive() {
        two_values(Slot::wait);
    }

    #[test]
    fn two_values_arrive_at_once() {
        two_values(Slot::wait_once);
    }
}
