//! How often something happened, and the largest value seen.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[derive(Default)]
pub struct Hits {
    count: AtomicU64,
    largest: AtomicU64,
}

impl Hits {
    pub fn add(&self) {
        self.count.fetch_add(1, SeqCst);
    }

    /// Reads and writes in two steps.
    pub fn add_slowly(&self) {
        let count = self.count.load(SeqCst);
        self.count.store(count + 1, SeqCst);
    }

    pub fn see(&self, value: u64) {
        self.largest.fetch_max(value, SeqCst);
    }

    pub fn see_by_exchange(&self, value: u64) {
        let mut largest = self.largest.load(SeqCst);
        while largest < value {
            match self
                .largest
                .compare_exchange_weak(largest, value, SeqCst, SeqCst)
            {
                Ok(_) => return,
                Err(now) => largest = now,
            }
        }
    }

    /// Compares first, and stores then.
    pub fn see_by_store(&self, value: u64) {
        if self.largest.load(SeqCst) < value {
            self.largest.store(value, SeqCst);
        }
    }

    pub fn count(&self) -> u64 {
        self.count.load(SeqCst)
    }

    pub fn largest(&self) -> u64 {
        self.largest.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn together(one: fn(&Hits), other: fn(&Hits)) -> Arc<Hits> {
        let hits = Arc::new(Hits::default());
        let threads = [one, other].map(|act| {
            let hits = Arc::clone(&hits);
            thread::spawn(move || act(&hits))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        hits
    }

    #[test]
    fn all_are_counted() {
        assert_eq!(together(Hits::add, Hits::add).count(), 2);
    }

    #[test]
    fn all_are_counted_slowly() {
        assert_eq!(together(Hits::add_slowly, Hits::add_slowly).count(), 2);
    }

    #[test]
    fn the_largest_is_kept() {
        assert_eq!(
            together(|hits| hits.see(3), |hits| hits.see(5)).largest(),
            5
        );
    }

    #[test]
    fn the_largest_is_kept_by_exchange() {
        let hits = together(
            |hits| hits.see_by_exchange(3),
            |hits| hits.see_by_exchange(5),
        );
        assert_eq!(hits.largest(), 5);
    }

    #[test]
    fn the_largest_is_kept_by_store() {
        let hits = together(|hits| hits.see_by_store(3), |hits| hits.see_by_store(5));
        assert_eq!(hits.largest(), 5, "a larger value was overwritten");
    }
    /// What each piece of memory was used for is asked when it is given back, after many events.
    #[test]
    fn many_counters_are_given_back() {
        let mut all: Vec<Hits> = Vec::new();
        all.resize_with(49_000, Hits::default);
        for hits in &all {
            hits.add();
            hits.see(1);
        }
        let counts = all.iter_mut().map(|hits| *hits.count.get_mut());
        assert_eq!(counts.sum::<u64>(), 49_000);
        let largest = all.iter_mut().map(|hits| *hits.largest.get_mut());
        assert_eq!(largest.max(), Some(1));
    }
}
