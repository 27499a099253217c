//! A list in an array: elements move when one is inserted or removed.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{Part, bump, lower, zeros};

const CAPACITY: usize = 8;

pub(crate) struct ArrayList {
    slots: Vec<AtomicUsize>,
    size: AtomicUsize,
    /// Number of changes, by which an iteration notices one.
    changes: AtomicUsize,
}

impl ArrayList {
    pub(crate) fn new() -> Self {
        ArrayList {
            slots: zeros(CAPACITY),
            size: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        }
    }

    #[track_caller]
    fn add(&self, value: usize) -> bool {
        let size = self.size.load(SeqCst);
        let Some(slot) = self.slots.get(size) else {
            return false;
        };
        bump(&self.changes);
        slot.store(value, SeqCst);
        self.size.store(size + 1, SeqCst);
        true
    }

    #[track_caller]
    fn insert(&self, index: usize, value: usize) -> bool {
        let size = self.size.load(SeqCst);
        if index > size || size >= CAPACITY {
            return false;
        }
        bump(&self.changes);
        for slot in (index..size).rev() {
            let moved = self.slots[slot].load(SeqCst);
            self.slots[slot + 1].store(moved, SeqCst);
        }
        self.slots[index].store(value, SeqCst);
        self.size.store(size + 1, SeqCst);
        true
    }

    #[track_caller]
    fn remove(&self, index: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        if index >= size {
            return None;
        }
        bump(&self.changes);
        let removed = self.slots[index].load(SeqCst);
        for slot in index + 1..size {
            let moved = self.slots[slot].load(SeqCst);
            self.slots[slot - 1].store(moved, SeqCst);
        }
        lower(&self.size);
        Some(removed)
    }

    #[track_caller]
    fn remove_value(&self, value: usize) -> bool {
        let size = self.size.load(SeqCst);
        let found = self.find(value, size);
        if let Some(index) = found {
            bump(&self.changes);
            for slot in index + 1..size {
                let moved = self.slots[slot].load(SeqCst);
                self.slots[slot - 1].store(moved, SeqCst);
            }
            self.size.store(size - 1, SeqCst);
        }
        found.is_some()
    }

    #[track_caller]
    fn get(&self, index: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        if index >= size {
            return None;
        }
        Some(self.slots[index].load(SeqCst))
    }

    #[track_caller]
    fn set(&self, index: usize, value: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        if index >= size {
            return None;
        }
        let old = self.slots[index].load(SeqCst);
        self.slots[index].store(value, SeqCst);
        Some(old)
    }

    #[track_caller]
    fn index_of(&self, value: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        self.find(value, size)
    }

    #[track_caller]
    fn find(&self, value: usize, size: usize) -> Option<usize> {
        for (index, slot) in self.slots[..size].iter().enumerate() {
            if slot.load(SeqCst) == value {
                return Some(index);
            }
        }
        None
    }

    #[track_caller]
    fn last(&self) -> Option<usize> {
        let size = self.size.load(SeqCst);
        let last = size.checked_sub(1)?;
        Some(self.slots[last].load(SeqCst))
    }

    #[track_caller]
    fn len(&self) -> usize {
        self.size.load(SeqCst)
    }

    /// Returns the sum of all elements, unless the list changes meanwhile.
    #[track_caller]
    fn sum(&self) -> Option<usize> {
        let before = self.changes.load(SeqCst);
        let size = self.size.load(SeqCst);
        let mut sum = 0;
        for slot in &self.slots[..size] {
            sum += slot.load(SeqCst);
        }
        (self.changes.load(SeqCst) == before).then_some(sum)
    }

    #[track_caller]
    fn clear(&self) {
        bump(&self.changes);
        let size = self.size.load(SeqCst);
        for slot in &self.slots[..size] {
            slot.store(0, SeqCst);
        }
        self.size.store(0, SeqCst);
    }
}

/// Two threads with many calls, and three with few.
pub(super) const PARTS: [Part<ArrayList>; 5] = [
    |list| {
        list.locked().add(1);
        list.locked().add(2);
        list.locked().insert(0, 3);
        list.carelessly().set(0, 4);
        list.carelessly().last();
        list.locked().remove(0);
        list.carelessly().index_of(2);
        list.locked().add(5);
        list.carelessly().get(1);
        list.locked().insert(1, 6);
        list.carelessly().sum();
        list.locked().remove_value(2);
        list.locked().add(7);
        list.carelessly().set(1, 8);
        list.locked().remove(1);
        list.carelessly().len();
        list.locked().insert(0, 9);
        list.carelessly().get(0);
        list.locked().add(10);
        list.locked().remove(0);
    },
    |list| {
        list.locked().insert(0, 11);
        list.carelessly().set(0, 12);
        list.carelessly().get(0);
        list.locked().add(13);
        list.carelessly().sum();
        list.locked().remove_value(12);
        list.locked().add(14);
        list.carelessly().index_of(14);
        list.locked().remove(0);
        list.locked().insert(0, 15);
        list.carelessly().len();
        list.locked().add(16);
        list.carelessly().set(1, 17);
        list.carelessly().last();
        list.locked().remove(1);
        list.locked().add(18);
        list.carelessly().get(1);
        list.locked().remove_value(18);
        list.locked().insert(1, 19);
        list.carelessly().sum();
    },
    |list| {
        list.locked().clear();
        list.locked().add(20);
    },
    |list| {
        list.locked().remove(0);
        list.locked().insert(0, 21);
        list.carelessly().set(0, 22);
    },
    |list| {
        list.carelessly().len();
        list.carelessly().sum();
        list.locked().remove(0);
    },
];
