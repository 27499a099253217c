//! A rate limiter that admits at most `capacity` requests between two refills.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub struct Limiter {
    tokens: AtomicU32,
    capacity: u32,
}

impl Limiter {
    pub fn new(capacity: u32) -> Self {
        Limiter {
            tokens: AtomicU32::new(capacity),
            capacity,
        }
    }

    /// Whether the request may go on.
    pub fn admit(&self) -> bool {
        let take = |tokens: u32| tokens.checked_sub(1);
        self.tokens.fetch_update(SeqCst, SeqCst, take).is_ok()
    }

    /// Looks first, and takes a token then.
    pub fn admit_in_two_steps(&self) -> bool {
        if self.tokens.load(SeqCst) == 0 {
            return false;
        }
        self.tokens.fetch_sub(1, SeqCst);
        true
    }

    pub fn refill(&self) {
        self.tokens.store(self.capacity, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn admitted(admit: fn(&Limiter) -> bool) -> usize {
        let limiter = Arc::new(Limiter::new(1));
        let threads = [(); 2].map(|()| {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || admit(&limiter))
        });
        let admitted = threads.map(|thread| thread.join().unwrap());
        admitted.iter().filter(|&&is_admitted| is_admitted).count()
    }

    #[test]
    fn one_of_two() {
        assert_eq!(admitted(Limiter::admit), 1);
    }

    #[test]
    fn one_of_two_in_two_steps() {
        assert_eq!(admitted(Limiter::admit_in_two_steps), 1);
    }

    #[test]
    fn refilled_in_between() {
        let limiter = Limiter::new(1);
        thread::scope(|scope| {
            let one = scope.spawn(|| limiter.admit());
            limiter.refill();
            assert!(one.join().unwrap());
        });
    }
}
