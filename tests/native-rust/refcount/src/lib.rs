//! A value that several own, and that goes with its last owner.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

/// How an owner goes.
pub trait Leave {
    /// Whether it was the last.
    fn leave(owners: &AtomicUsize) -> bool;
}

/// As it should be.
pub struct Ordered;

/// What the others did may not have happened yet for the last one.
pub struct Relaxed;

/// Two who leave at the same time are both the last.
pub struct TwoSteps;

impl Leave for Ordered {
    fn leave(owners: &AtomicUsize) -> bool {
        let is_last = owners.fetch_sub(1, Ordering::Release) == 1;
        if is_last {
            fence(Ordering::Acquire);
        }
        is_last
    }
}

impl Leave for Relaxed {
    fn leave(owners: &AtomicUsize) -> bool {
        owners.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

impl Leave for TwoSteps {
    fn leave(owners: &AtomicUsize) -> bool {
        owners.fetch_sub(1, Ordering::AcqRel);
        owners.load(Ordering::Acquire) == 0
    }
}

pub struct Shared<T, L: Leave = Ordered> {
    inner: NonNull<Inner<T>>,
    leave: std::marker::PhantomData<L>,
}

// SAFETY: the value is shared, and dropped by the last owner.
unsafe impl<T: Send + Sync, L: Leave> Send for Shared<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, L: Leave> Sync for Shared<T, L> {}

impl<T, L: Leave> Shared<T, L> {
    pub fn new(value: T) -> Self {
        let owners = AtomicUsize::new(1);
        let inner = Box::leak(Box::new(Inner { owners, value }));
        Shared {
            inner: inner.into(),
            leave: std::marker::PhantomData,
        }
    }
}

impl<T, L: Leave> Clone for Shared<T, L> {
    fn clone(&self) -> Self {
        // SAFETY: it is there as long as there is an owner.
        let inner = unsafe { self.inner.as_ref() };
        inner.owners.fetch_add(1, Ordering::Relaxed);
        Shared { ..*self }
    }
}

impl<T, L: Leave> Deref for Shared<T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is there as long as there is an owner.
        unsafe { &self.inner.as_ref().value }
    }
}

impl<T, L: Leave> Drop for Shared<T, L> {
    fn drop(&mut self) {
        // SAFETY: this owner has not left yet.
        let is_last = L::leave(unsafe { &self.inner.as_ref().owners });
        if is_last {
            // SAFETY: this was the last owner.
            drop(unsafe { Box::from_raw(self.inner.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    /// Each thread changes a part of its own; the last one sees them all.
    #[derive(Default)]
    struct Parts([Cell<u32>; 2]);

    // SAFETY: each thread has a part of its own.
    unsafe impl Sync for Parts {}

    impl Drop for Parts {
        fn drop(&mut self) {
            let sum: u32 = self.0.iter().map(Cell::get).sum();
            assert_eq!(sum, 2);
        }
    }

    fn two_owners<L: Leave + 'static>() {
        let one = Shared::<Parts, L>::new(Parts::default());
        let other = one.clone();
        let thread = thread::spawn(move || other.0[1].set(1));
        one.0[0].set(1);
        drop(one);
        thread.join().unwrap();
    }

    #[test]
    fn dropped_by_the_last() {
        two_owners::<Ordered>();
    }

    #[test]
    fn dropped_by_the_last_without_ordering() {
        two_owners::<Relaxed>();
    }

    #[test]
    fn dropped_by_the_last_in_two_steps() {
        two_owners::<TwoSteps>();
    }
}
