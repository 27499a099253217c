#![deny(warnings)]

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Counts things for many threads at once.
pub struct Tally(AtomicU32);

impl Tally {
    pub const fn new() -> Self {
        Tally(AtomicU32::new(0))
    }

    pub fn add_one(&self) {
        let seen = self.0.load(SeqCst);
        self.0.store(seen + 1, SeqCst);
    }

    pub fn total(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use raddle::thread;

    #[raddle::test]
    fn nothing_is_lost() {
        let tally = Tally::new();
        thread::scope(|scope| {
            scope.spawn(|| tally.add_one());
            scope.spawn(|| tally.add_one());
        });
        assert_eq!(tally.total(), 2, "an update was lost");
    }

    #[test]
    fn one_and_one_is_two() {
        let tally = Tally::new();
        tally.add_one();
        tally.add_one();
        assert_eq!(tally.total(), 2);
    }
}
