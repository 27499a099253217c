//! A ring buffer with one producer and one consumer, tested.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

const SIZE: usize = 2;

/// The producer owns the slots from `tail` on, the consumer those from `head` to `tail`.
struct Ring {
    slots: [UnsafeCell<u32>; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: only its owner accesses a slot, and `head` and `tail` transfer ownership.
unsafe impl Sync for Ring {}
// SAFETY: as above.
unsafe impl Send for Ring {}

impl Ring {
    fn new() -> Self {
        Ring {
            slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.head.load(Ordering::Acquire) == SIZE {
            return false;
        }
        // SAFETY: the slot is free, so it is the producer's.
        self.slots[tail % SIZE].with_mut(|slot| unsafe { *slot = value });
        self.tail.store(tail + 1, Ordering::Release);
        true
    }

    fn pop(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the slot is full, so it is the consumer's.
        let value = self.slots[head % SIZE].with(|slot| unsafe { *slot });
        self.head.store(head + 1, Ordering::Release);
        Some(value)
    }
}

/// Values are popped in the order in which they were pushed.
pub fn in_order() {
    let ring = Arc::new(Ring::new());
    let producer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || (1..=3).filter(|&value| ring.push(value)).count())
    };
    let mut popped = Vec::new();
    for _ in 0..3 {
        popped.extend(ring.pop());
    }
    let pushed = producer.join().unwrap();
    while let Some(value) = ring.pop() {
        popped.push(value);
    }
    assert_eq!(popped.len(), pushed);
    assert!(popped.is_sorted());
}

/// The test.
pub fn test() {
    loom::model(in_order);
}
