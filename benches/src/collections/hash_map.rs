//! A map with chains: an entry is a number in a pool, and each bucket has the first of its chain.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{Part, bump, lower, zeros};

const BUCKETS: usize = 2;
const CAPACITY: usize = 10;
/// No entry. Entries are numbered from 1.
const NONE: usize = 0;

pub(crate) struct HashMap {
    buckets: Vec<AtomicUsize>,
    keys: Vec<AtomicUsize>,
    values: Vec<AtomicUsize>,
    next: Vec<AtomicUsize>,
    used: AtomicUsize,
    size: AtomicUsize,
    changes: AtomicUsize,
}

impl HashMap {
    pub(crate) fn new() -> Self {
        HashMap {
            buckets: zeros(BUCKETS),
            keys: zeros(CAPACITY + 1),
            values: zeros(CAPACITY + 1),
            next: zeros(CAPACITY + 1),
            used: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        }
    }

    /// Returns the entry with this key.
    #[track_caller]
    fn find(&self, key: usize) -> usize {
        let mut entry = self.buckets[key % BUCKETS].load(SeqCst);
        // No chain is longer, even if it is broken.
        for _ in 0..CAPACITY {
            if entry == NONE || self.keys[entry].load(SeqCst) == key {
                break;
            }
            entry = self.next[entry].load(SeqCst);
        }
        entry
    }

    /// Puts a new entry first in its chain.
    #[track_caller]
    fn link(&self, key: usize, value: usize) {
        let entry = self.used.load(SeqCst) + 1;
        if entry > CAPACITY {
            return;
        }
        self.used.store(entry, SeqCst);
        self.keys[entry].store(key, SeqCst);
        self.values[entry].store(value, SeqCst);
        let bucket = &self.buckets[key % BUCKETS];
        self.next[entry].store(bucket.load(SeqCst), SeqCst);
        bucket.store(entry, SeqCst);
        bump(&self.size);
        bump(&self.changes);
    }

    #[track_caller]
    fn put(&self, key: usize, value: usize) {
        match self.find(key) {
            NONE => self.link(key, value),
            entry => self.values[entry].store(value, SeqCst),
        }
    }

    #[track_caller]
    fn put_if_absent(&self, key: usize, value: usize) {
        if self.find(key) == NONE {
            self.link(key, value);
        }
    }

    #[track_caller]
    fn get(&self, key: usize) -> Option<usize> {
        match self.find(key) {
            NONE => None,
            entry => Some(self.values[entry].load(SeqCst)),
        }
    }

    #[track_caller]
    fn replace(&self, key: usize, value: usize) -> bool {
        let entry = self.find(key);
        if entry != NONE {
            self.values[entry].store(value, SeqCst);
        }
        entry != NONE
    }

    #[track_caller]
    fn remove(&self, key: usize) -> bool {
        let bucket = &self.buckets[key % BUCKETS];
        let mut before = NONE;
        let mut entry = bucket.load(SeqCst);
        for _ in 0..CAPACITY {
            if entry == NONE || self.keys[entry].load(SeqCst) == key {
                break;
            }
            before = entry;
            entry = self.next[entry].load(SeqCst);
        }
        if entry == NONE {
            return false;
        }
        let behind = self.next[entry].load(SeqCst);
        match before {
            NONE => bucket.store(behind, SeqCst),
            before => self.next[before].store(behind, SeqCst),
        }
        lower(&self.size);
        bump(&self.changes);
        true
    }

    #[track_caller]
    fn contains_key(&self, key: usize) -> bool {
        self.find(key) != NONE
    }

    #[track_caller]
    fn contains_value(&self, value: usize) -> bool {
        let before = self.changes.load(SeqCst);
        let mut found = false;
        for bucket in &self.buckets {
            let mut entry = bucket.load(SeqCst);
            for _ in 0..CAPACITY {
                if entry == NONE || found {
                    break;
                }
                found = self.values[entry].load(SeqCst) == value;
                entry = self.next[entry].load(SeqCst);
            }
        }
        found && self.changes.load(SeqCst) == before
    }

    #[track_caller]
    fn len(&self) -> usize {
        self.size.load(SeqCst)
    }

    #[track_caller]
    fn clear(&self) {
        for bucket in &self.buckets {
            bucket.store(NONE, SeqCst);
        }
        self.size.store(0, SeqCst);
        bump(&self.changes);
    }
}

/// Two threads with many calls, and three with few.
pub(super) const PARTS: [Part<HashMap>; 5] = [
    |map| {
        map.locked().put(1, 10);
        map.locked().put(3, 30);
        map.carelessly().get(1);
        map.carelessly().replace(1, 11);
        map.locked().remove(1);
        map.carelessly().len();
        map.locked().put_if_absent(5, 50);
        map.locked().put(1, 12);
        map.carelessly().contains_key(3);
        map.carelessly().replace(3, 31);
        map.locked().put(7, 70);
        map.carelessly().get(5);
        map.locked().remove(3);
        map.locked().put_if_absent(3, 32);
        map.carelessly().contains_value(70);
        map.locked().put(1, 13);
        map.locked().remove(7);
        map.carelessly().get(3);
        map.locked().put(5, 51);
    },
    |map| {
        map.locked().put_if_absent(1, 14);
        map.carelessly().replace(3, 33);
        map.carelessly().get(3);
        map.locked().put(2, 20);
        map.carelessly().contains_value(50);
        map.locked().remove(3);
        map.locked().put(4, 40);
        map.carelessly().contains_key(2);
        map.carelessly().len();
        map.locked().put(1, 15);
        map.carelessly().get(1);
        map.locked().remove(2);
        map.locked().put_if_absent(3, 34);
        map.carelessly().replace(4, 41);
        map.locked().put(2, 21);
        map.carelessly().get(4);
        map.locked().remove(4);
        map.locked().put(3, 35);
        map.carelessly().contains_key(1);
    },
    |map| {
        map.locked().clear();
        map.locked().put(3, 36);
    },
    |map| {
        map.locked().remove(1);
        map.locked().put_if_absent(1, 16);
        map.carelessly().replace(3, 37);
    },
    |map| {
        map.carelessly().len();
        map.carelessly().contains_value(12);
        map.locked().remove(3);
    },
];
