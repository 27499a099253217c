//! A list in an array: elements move when one is inserted or removed.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{Part, bump, lower, zeros};

const CAPACITY: usize = 8;

pub(crate) struct ArrayList {
    slots: Vec<AtomicUsize>,
    size: AtomicUsize,
    /// How often it was changed, so that whoever walks along it notices.
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

    fn remove_value(&self, value: usize) -> bool {
        let size = self.size.load(SeqCst);
        let found = self.slots[..size]
            .iter()
            .position(|slot| slot.load(SeqCst) == value);
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

    fn get(&self, index: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        (index < size).then(|| self.slots[index].load(SeqCst))
    }

    fn set(&self, index: usize, value: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        (index < size).then(|| {
            let old = self.slots[index].load(SeqCst);
            self.slots[index].store(value, SeqCst);
            old
        })
    }

    fn index_of(&self, value: usize) -> Option<usize> {
        let size = self.size.load(SeqCst);
        self.slots[..size]
            .iter()
            .position(|slot| slot.load(SeqCst) == value)
    }

    fn last(&self) -> Option<usize> {
        let size = self.size.load(SeqCst);
        size.checked_sub(1)
            .map(|last| self.slots[last].load(SeqCst))
    }

    fn len(&self) -> usize {
        self.size.load(SeqCst)
    }

    /// The sum of all, unless the list changes meanwhile.
    fn sum(&self) -> Option<usize> {
        let before = self.changes.load(SeqCst);
        let size = self.size.load(SeqCst);
        let sum = self.slots[..size]
            .iter()
            .map(|slot| slot.load(SeqCst))
            .sum();
        (self.changes.load(SeqCst) == before).then_some(sum)
    }

    fn clear(&self) {
        bump(&self.changes);
        let size = self.size.load(SeqCst);
        for slot in &self.slots[..size] {
            slot.store(0, SeqCst);
        }
        self.size.store(0, SeqCst);
    }
}

pub(super) const PARTS: [Part<ArrayList>; 4] = [
    |list| {
        list.locked().add(1);
        list.locked().add(2);
        list.locked().insert(0, 3);
        list.carelessly().set(0, 4);
        list.carelessly().last();
        list.locked().remove(0);
        list.carelessly().index_of(2);
        list.locked().clear();
        list.locked().add(5);
        list.carelessly().len();
    },
    |list| {
        list.locked().insert(0, 6);
        list.carelessly().set(1, 7);
        list.carelessly().get(0);
        list.locked().remove_value(7);
        list.locked().add(8);
        list.carelessly().sum();
        list.locked().remove(1);
        list.carelessly().last();
        list.carelessly().set(0, 9);
        list.locked().clear();
    },
    |list| {
        list.carelessly().len();
        list.carelessly().get(0);
        list.carelessly().last();
        list.carelessly().index_of(1);
        list.carelessly().sum();
        list.carelessly().get(1);
        list.carelessly().len();
        list.locked().remove(0);
        list.locked().insert(1, 10);
        list.carelessly().sum();
    },
    |list| {
        list.locked().remove(0);
        list.locked().remove_value(1);
        list.carelessly().len();
        list.locked().clear();
        list.locked().add(11);
        list.carelessly().set(0, 12);
        list.carelessly().get(0);
        list.carelessly().index_of(12);
        list.locked().insert(0, 13);
        list.locked().remove(0);
    },
];
