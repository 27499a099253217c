//! A cache: what is asked for often is computed once.

use std::collections::HashMap;
use std::sync::RwLock;

#[derive(Default)]
pub struct Cache {
    values: RwLock<HashMap<u32, u64>>,
}

impl Cache {
    pub fn get(&self, key: u32, compute: impl FnOnce() -> u64) -> u64 {
        if let Some(&value) = self.values.read().unwrap().get(&key) {
            return value;
        }
        let mut values = self.values.write().unwrap();
        *values.entry(key).or_insert_with(compute)
    }

    /// Everybody who comes before the first value is there computes it, too.
    pub fn get_in_a_hurry(&self, key: u32, compute: impl FnOnce() -> u64) -> u64 {
        if let Some(&value) = self.values.read().unwrap().get(&key) {
            return value;
        }
        let value = compute();
        self.values.write().unwrap().insert(key, value);
        value
    }

    /// Wants to write while it still reads.
    pub fn get_by_upgrade(&self, key: u32, compute: impl FnOnce() -> u64) -> u64 {
        let values = self.values.read().unwrap();
        match values.get(&key) {
            Some(&value) => value,
            None => {
                let value = compute();
                self.values.write().unwrap().insert(key, value);
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::thread;

    use super::*;

    fn asked_twice(get: fn(&Cache, u32, &dyn Fn() -> u64) -> u64) {
        let cache = Cache::default();
        let computed = AtomicU64::new(0);
        let ask = || {
            get(&cache, 7, &|| {
                computed.fetch_add(1, SeqCst);
                49
            })
        };
        thread::scope(|scope| {
            let one = scope.spawn(ask);
            let other = scope.spawn(ask);
            assert_eq!((one.join().unwrap(), other.join().unwrap()), (49, 49));
        });
        assert_eq!(computed.load(SeqCst), 1, "computed more than once");
    }

    #[test]
    fn computed_once() {
        asked_twice(|cache, key, compute| cache.get(key, compute));
    }

    #[test]
    fn computed_once_in_a_hurry() {
        asked_twice(|cache, key, compute| cache.get_in_a_hurry(key, compute));
    }

    #[test]
    fn computed_once_by_upgrade() {
        asked_twice(|cache, key, compute| cache.get_by_upgrade(key, compute));
    }
}
