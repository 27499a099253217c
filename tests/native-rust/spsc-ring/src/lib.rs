//! A ring for one who writes and one who reads, without locks.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Ring<T, const N: usize> {
    slots: [UnsafeCell<MaybeUninit<T>>; N],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: a slot between head and tail is the reader's, the others are the writer's.
unsafe impl<T: Send, const N: usize> Sync for Ring<T, N> {}

impl<T, const N: usize> Ring<T, N> {
    pub fn new() -> Self {
        Ring {
            slots: std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    pub fn push(&self, value: T) -> Result<(), T> {
        self.push_with(value, Ordering::Release)
    }

    /// Who reads may see the new tail before the value.
    pub fn push_relaxed(&self, value: T) -> Result<(), T> {
        self.push_with(value, Ordering::Relaxed)
    }

    fn push_with(&self, value: T, publish: Ordering) -> Result<(), T> {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail - self.head.load(Ordering::Acquire) == N {
            return Err(value);
        }
        // SAFETY: the slot is the writer's.
        unsafe { (*self.slots[tail % N].get()).write(value) };
        self.tail.store(tail + 1, publish);
        Ok(())
    }

    pub fn pop(&self) -> Option<T> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the slot is the reader's, and full.
        let value = unsafe { (*self.slots[head % N].get()).assume_init_read() };
        self.head.store(head + 1, Ordering::Release);
        Some(value)
    }

    /// Gives the slot back before it has read it.
    pub fn pop_too_early(&self) -> Option<T> {
        let head = self.head.load(Ordering::Relaxed);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        self.head.store(head + 1, Ordering::Release);
        // SAFETY: none, the writer may have the slot by now.
        Some(unsafe { (*self.slots[head % N].get()).assume_init_read() })
    }
}

impl<T, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Ring::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    type Small = Ring<u64, 1>;

    fn pass(push: fn(&Small, u64) -> Result<(), u64>, pop: fn(&Small) -> Option<u64>) {
        let ring = Small::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = push(&ring, 1);
                let _ = push(&ring, 2);
            });
            let first = pop(&ring);
            assert!(first.is_none_or(|value| value == 1));
        });
    }

    #[test]
    fn values_come_in_order() {
        pass(Ring::push, Ring::pop);
    }

    #[test]
    fn values_come_in_order_without_ordering() {
        pass(Ring::push_relaxed, Ring::pop);
    }

    #[test]
    fn values_come_in_order_too_early() {
        pass(Ring::push, Ring::pop_too_early);
    }
}
