//! A value that is replaced while others read it, and freed when the last of them is gone.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crossbeam_epoch::{self as epoch, Atomic, Owned, Shared};

/// The newest of a few versions.
pub struct Versions<T> {
    newest: Atomic<T>,
}

impl<T: Clone> Versions<T> {
    pub fn new(value: T) -> Self {
        Versions {
            newest: Atomic::new(value),
        }
    }

    pub fn get(&self) -> T {
        let guard = epoch::pin();
        let newest = self.newest.load(Acquire, &guard);
        // SAFETY: there always is one, and it is not freed while we are pinned.
        unsafe { newest.deref() }.clone()
    }

    pub fn set(&self, value: T) {
        let guard = epoch::pin();
        let old = self.newest.swap(Owned::new(value), AcqRel, &guard);
        // SAFETY: the swap has unlinked it, so no thread can load it any more.
        unsafe { guard.defer_destroy(old) };
    }

    pub fn update(&self, change: impl Fn(&T) -> T) {
        let guard = epoch::pin();
        loop {
            let old = self.newest.load(Acquire, &guard);
            // SAFETY: as in `get`.
            let new = Owned::new(change(unsafe { old.deref() }));
            if self
                .newest
                .compare_exchange(old, new, AcqRel, Acquire, &guard)
                .is_ok()
            {
                // SAFETY: as in `set`.
                unsafe { guard.defer_destroy(old) };
                return;
            }
        }
    }

    /// Replaces what it has not seen, too.
    pub fn update_by_set(&self, change: impl Fn(&T) -> T) {
        let value = self.get();
        self.set(change(&value));
    }
}

impl<T> Drop for Versions<T> {
    fn drop(&mut self) {
        // SAFETY: `&mut self` excludes every other access.
        unsafe {
            let last = self
                .newest
                .swap(Shared::null(), Release, epoch::unprotected());
            drop(last.into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_is_read_is_whole() {
        let versions = Versions::new(String::from("old"));
        thread::scope(|scope| {
            scope.spawn(|| versions.set(String::from("new")));
            assert!(["old", "new"].contains(&&*versions.get()));
        });
    }

    fn twice(update: fn(&Versions<u32>)) {
        let versions = Versions::new(0);
        thread::scope(|scope| {
            scope.spawn(|| update(&versions));
            update(&versions);
        });
        assert_eq!(versions.get(), 2, "an update was lost");
    }

    #[test]
    fn both_updates_count() {
        twice(|versions| versions.update(|value| value + 1));
    }

    #[test]
    fn both_updates_count_by_set() {
        twice(|versions| versions.update_by_set(|value| value + 1));
    }
}
