//! Semaphores on std's lock and condition variable.

use std::fmt;

use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A counting semaphore: any number of permits.
pub struct Semaphore {
    permits: Mutex<usize>,
    changed: Condvar,
}

impl Semaphore {
    /// Creates a semaphore with a number of permits.
    pub const fn new(permits: usize) -> Self {
        Semaphore {
            permits: Mutex::new(permits),
            changed: Condvar::new(),
        }
    }

    fn permits(&self) -> MutexGuard<'_, usize> {
        // Nothing panics while the lock is held.
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of permits.
    pub(crate) fn available(&self) -> usize {
        *self.permits()
    }

    /// Takes a permit, after waiting for one.
    pub fn acquire(&self) {
        let permits = self
            .changed
            .wait_while(self.permits(), |permits| *permits == 0);
        *permits.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    /// Takes a permit if one is available; true if so.
    pub fn try_acquire(&self) -> bool {
        let mut permits = self.permits();
        let taken = *permits > 0;
        *permits -= usize::from(taken);
        taken
    }

    /// Returns a permit.
    pub fn release(&self) {
        *self.permits() += 1;
        self.changed.notify_one();
    }

    /// Returns a permit, after waiting until there is none.
    fn release_when_empty(&self) {
        let permits = self
            .changed
            .wait_while(self.permits(), |permits| *permits > 0);
        *permits.unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("permits", &self.available())
            .finish_non_exhaustive()
    }
}

/// A binary semaphore: at most one permit; acquire and release alternate.
pub struct BinarySemaphore(Semaphore);

impl BinarySemaphore {
    /// Creates a semaphore with or without its permit.
    pub const fn new(available: bool) -> Self {
        BinarySemaphore(Semaphore::new(available as usize))
    }

    /// True when the permit is available.
    pub(crate) fn available(&self) -> bool {
        self.0.available() > 0
    }

    /// Takes the permit, after waiting for it.
    pub fn acquire(&self) {
        self.0.acquire();
        // Another thread may wait to return it.
        self.0.changed.notify_all();
    }

    /// Takes the permit if it is available; true if so.
    pub fn try_acquire(&self) -> bool {
        let taken = self.0.try_acquire();
        self.0.changed.notify_all();
        taken
    }

    /// Returns the permit, after waiting until it is taken.
    pub fn release(&self) {
        self.0.release_when_empty();
    }
}

impl fmt::Debug for BinarySemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BinarySemaphore")
            .field("available", &self.available())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use super::*;

    #[test]
    fn permits_are_taken_and_given_back() {
        let semaphore = Semaphore::new(2);
        semaphore.acquire();
        assert!(semaphore.try_acquire());
        assert!(!semaphore.try_acquire());
        semaphore.release();
        assert_eq!(format!("{semaphore:?}"), "Semaphore { permits: 1, .. }");
    }

    #[test]
    fn no_more_threads_get_in_than_there_are_permits() {
        let (semaphore, inside, most) =
            (Semaphore::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        semaphore.acquire();
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        inside.fetch_sub(1, SeqCst);
                        semaphore.release();
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.into_inner()));
        assert_eq!(semaphore.available(), 3);
    }

    #[test]
    fn a_binary_semaphore_passes_turns() {
        let (semaphore, given, most) = (
            BinarySemaphore::new(false),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..500 {
                    semaphore.release();
                    given.fetch_add(1, SeqCst);
                }
            });
            for taken in 0..500 {
                semaphore.acquire();
                // This acquire let one more release through; the one after that waits for the next.
                most.fetch_max(given.load(SeqCst) - taken.min(given.load(SeqCst)), SeqCst);
            }
        });
        assert!(most.into_inner() <= 2, "a release overtook");
        assert!(!semaphore.available() && !semaphore.try_acquire());
        assert_eq!(
            format!("{semaphore:?}"),
            "BinarySemaphore { available: false, .. }"
        );
    }
}
