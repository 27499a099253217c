//! The cache of the book.

use raddle::sync::{Arc, Mutex};
use raddle::thread;
use std::collections::BTreeMap;

#[derive(Default)]
struct Cache(Mutex<BTreeMap<u32, u32>>);

impl Cache {
    /// Returns the value of a key, and true if this call has computed it.
    fn get(&self, key: u32) -> (u32, bool) {
        raddle::atomic_block!("get", {
            let known = self.0.lock().unwrap().get(&key).copied();
            match known {
                Some(value) => (value, false),
                None => {
                    let value = key * key;
                    self.0.lock().unwrap().insert(key, value);
                    (value, true)
                }
            }
        })
    }
}

pub fn program() {
    let cache = Arc::new(Cache::default());
    raddle::label!("cache", &cache.0);
    let other = Arc::clone(&cache);
    let thread = thread::spawn(move || other.get(7));
    cache.get(7);
    thread.join().unwrap();
}
