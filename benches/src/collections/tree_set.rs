//! A set in a binary search tree that is not balanced: a node is a number in a pool.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{Part, bump, lower, zeros};

const CAPACITY: usize = 12;
/// No node. Nodes are numbered from 1.
const NONE: usize = 0;

pub(crate) struct TreeSet {
    root: AtomicUsize,
    keys: Vec<AtomicUsize>,
    left: Vec<AtomicUsize>,
    right: Vec<AtomicUsize>,
    /// Nonzero if a node's key was removed; the node stays.
    removed: Vec<AtomicUsize>,
    used: AtomicUsize,
    size: AtomicUsize,
}

impl TreeSet {
    pub(crate) fn new() -> Self {
        TreeSet {
            root: AtomicUsize::new(NONE),
            keys: zeros(CAPACITY + 1),
            left: zeros(CAPACITY + 1),
            right: zeros(CAPACITY + 1),
            removed: zeros(CAPACITY + 1),
            used: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
        }
    }

    #[track_caller]
    fn insert(&self, key: usize) -> bool {
        let mut link = &self.root;
        for _ in 0..CAPACITY {
            let node = link.load(SeqCst);
            if node == NONE {
                break;
            }
            let other = self.keys[node].load(SeqCst);
            if other == key {
                let was_removed = self.removed[node].load(SeqCst) == 1;
                if was_removed {
                    self.removed[node].store(0, SeqCst);
                    bump(&self.size);
                }
                return was_removed;
            }
            link = match key < other {
                true => &self.left[node],
                false => &self.right[node],
            };
        }
        let node = self.used.load(SeqCst) + 1;
        if node > CAPACITY {
            return false;
        }
        self.used.store(node, SeqCst);
        self.keys[node].store(key, SeqCst);
        link.store(node, SeqCst);
        bump(&self.size);
        true
    }

    /// Returns the node with this key.
    #[track_caller]
    fn find(&self, key: usize) -> usize {
        let mut node = self.root.load(SeqCst);
        for _ in 0..CAPACITY {
            if node == NONE {
                break;
            }
            let other = self.keys[node].load(SeqCst);
            node = match key.cmp(&other) {
                std::cmp::Ordering::Less => self.left[node].load(SeqCst),
                std::cmp::Ordering::Equal => break,
                std::cmp::Ordering::Greater => self.right[node].load(SeqCst),
            };
        }
        node
    }

    #[track_caller]
    fn contains(&self, key: usize) -> bool {
        let node = self.find(key);
        node != NONE && self.removed[node].load(SeqCst) == 0
    }

    #[track_caller]
    fn remove(&self, key: usize) -> bool {
        let node = self.find(key);
        if node == NONE || self.removed[node].load(SeqCst) == 1 {
            return false;
        }
        self.removed[node].store(1, SeqCst);
        lower(&self.size);
        true
    }

    /// Returns the last key along one side that was not removed.
    #[track_caller]
    fn along(&self, side: &[AtomicUsize]) -> usize {
        let mut node = self.root.load(SeqCst);
        let mut last = NONE;
        for _ in 0..CAPACITY {
            if node == NONE {
                break;
            }
            if self.removed[node].load(SeqCst) == 0 {
                last = node;
            }
            node = side[node].load(SeqCst);
        }
        last
    }

    #[track_caller]
    fn first(&self) -> usize {
        let node = self.along(&self.left);
        self.keys[node].load(SeqCst)
    }

    #[track_caller]
    fn last(&self) -> usize {
        let node = self.along(&self.right);
        self.keys[node].load(SeqCst)
    }

    #[track_caller]
    fn poll_first(&self) -> usize {
        let node = self.along(&self.left);
        if node != NONE {
            self.removed[node].store(1, SeqCst);
            lower(&self.size);
        }
        node
    }

    /// Returns the largest key that is not larger.
    #[track_caller]
    fn floor(&self, key: usize) -> usize {
        let mut node = self.root.load(SeqCst);
        let mut best = 0;
        for _ in 0..CAPACITY {
            if node == NONE {
                break;
            }
            let other = self.keys[node].load(SeqCst);
            node = match other <= key {
                true => {
                    best = other;
                    self.right[node].load(SeqCst)
                }
                false => self.left[node].load(SeqCst),
            };
        }
        best
    }

    #[track_caller]
    fn len(&self) -> usize {
        self.size.load(SeqCst)
    }

    #[track_caller]
    fn clear(&self) {
        self.root.store(NONE, SeqCst);
        self.size.store(0, SeqCst);
    }
}

/// Two threads with many calls, and three with few.
pub(super) const PARTS: [Part<TreeSet>; 5] = [
    |set| {
        set.locked().insert(5);
        set.locked().insert(3);
        set.carelessly().contains(3);
        set.carelessly().first();
        set.locked().insert(8);
        set.locked().remove(5);
        set.carelessly().len();
        set.locked().insert(5);
        set.carelessly().last();
        set.locked().insert(2);
        set.carelessly().floor(4);
        set.locked().remove(3);
        set.locked().insert(7);
        set.carelessly().poll_first();
        set.carelessly().contains(8);
        set.locked().insert(3);
        set.locked().remove(8);
        set.carelessly().first();
        set.locked().insert(9);
    },
    |set| {
        set.locked().insert(8);
        set.carelessly().last();
        set.locked().insert(4);
        set.carelessly().poll_first();
        set.carelessly().floor(6);
        set.locked().insert(5);
        set.locked().remove(8);
        set.carelessly().contains(2);
        set.locked().insert(6);
        set.carelessly().first();
        set.locked().remove(4);
        set.locked().insert(1);
        set.carelessly().len();
        set.carelessly().poll_first();
        set.locked().insert(8);
        set.carelessly().last();
        set.locked().remove(6);
        set.carelessly().contains(5);
        set.locked().insert(2);
    },
    |set| {
        set.locked().clear();
        set.locked().insert(6);
    },
    |set| {
        set.carelessly().poll_first();
        set.locked().insert(4);
        set.locked().remove(5);
    },
    |set| {
        set.carelessly().len();
        set.carelessly().contains(5);
        set.locked().remove(3);
    },
];
