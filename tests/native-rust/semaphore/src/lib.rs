//! A counting semaphore.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};

pub struct Semaphore {
    permits: Mutex<u32>,
    released: Condvar,
}

impl Semaphore {
    pub fn new(permits: u32) -> Self {
        Semaphore {
            permits: Mutex::new(permits),
            released: Condvar::new(),
        }
    }

    pub fn acquire(&self) {
        let permits = self.permits.lock().unwrap();
        let mut permits = self
            .released
            .wait_while(permits, |permits| *permits == 0)
            .unwrap();
        *permits -= 1;
    }

    pub fn release(&self) {
        *self.permits.lock().unwrap() += 1;
        self.released.notify_one();
    }

    /// Says so to those who wait only if there was nothing left.
    pub fn release_if_none(&self) {
        let mut permits = self.permits.lock().unwrap();
        *permits += 1;
        if *permits == 1 {
            self.released.notify_one();
        }
    }
}

/// How many are inside, for those who must not be too many.
#[derive(Default)]
pub struct Room {
    inside: AtomicU32,
}

impl Room {
    pub fn enter(&self, limit: u32) {
        let inside = self.inside.fetch_add(1, SeqCst) + 1;
        assert!(inside <= limit, "too many inside");
        self.inside.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_at_a_time() {
        let semaphore = Semaphore::new(1);
        let room = Room::default();
        let visit = || {
            semaphore.acquire();
            room.enter(1);
            semaphore.release();
        };
        thread::scope(|scope| {
            scope.spawn(visit);
            scope.spawn(visit);
        });
    }

    #[test]
    fn two_where_one_may() {
        let semaphore = Semaphore::new(2);
        let room = Room::default();
        let visit = || {
            semaphore.acquire();
            room.enter(1);
            semaphore.release();
        };
        thread::scope(|scope| {
            scope.spawn(visit);
            scope.spawn(visit);
        });
    }

    fn two_wait(release: fn(&Semaphore)) {
        let semaphore = Semaphore::new(0);
        thread::scope(|scope| {
            scope.spawn(|| semaphore.acquire());
            scope.spawn(|| semaphore.acquire());
            release(&semaphore);
            release(&semaphore);
        });
    }

    #[test]
    fn both_are_let_in() {
        two_wait(Semaphore::release);
    }

    #[test]
    fn both_are_let_in_if_there_was_none() {
        two_wait(Semaphore::release_if_none);
    }
}
