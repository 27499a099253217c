//! A lock for very short times: who does not get it tries again.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::{Backoff, CachePadded};

pub struct SpinLock<T> {
    is_taken: CachePadded<AtomicBool>,
    value: UnsafeCell<T>,
}

// SAFETY: only who has the lock uses the value.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub fn new(value: T) -> Self {
        SpinLock {
            is_taken: CachePadded::new(AtomicBool::new(false)),
            value: UnsafeCell::new(value),
        }
    }

    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.with_ordering(Ordering::Acquire, Ordering::Release, act)
    }

    /// What is done under the lock may leak out of it.
    pub fn with_relaxed<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        self.with_ordering(Ordering::Relaxed, Ordering::Relaxed, act)
    }

    fn with_ordering<R>(&self, take: Ordering, give: Ordering, act: impl FnOnce(&mut T) -> R) -> R {
        let backoff = Backoff::new();
        while self.is_taken.swap(true, take) {
            backoff.snooze();
        }
        // SAFETY: we have the lock.
        let result = act(unsafe { &mut *self.value.get() });
        self.is_taken.store(false, give);
        result
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_utils::sync::WaitGroup;
    use crossbeam_utils::thread;

    use super::*;

    fn twice(add: fn(&SpinLock<u32>)) {
        let lock = SpinLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|_| add(&lock));
            scope.spawn(|_| add(&lock));
        })
        .unwrap();
        assert_eq!(lock.with(|value| *value), 2);
    }

    #[test]
    fn one_after_the_other() {
        twice(|lock| lock.with(|value| *value += 1));
    }

    #[test]
    fn one_after_the_other_without_ordering() {
        twice(|lock| lock.with_relaxed(|value| *value += 1));
    }

    #[test]
    fn a_group_is_waited_for() {
        let group = WaitGroup::new();
        let lock = SpinLock::new(0);
        thread::scope(|scope| {
            let one = group.clone();
            scope.spawn(|_| {
                lock.with(|value| *value = 1);
                drop(one);
            });
            group.wait();
            assert_eq!(lock.with(|value| *value), 1);
        })
        .unwrap();
    }
}
