//! Table of interactions whose requirements have all been covered.

/// An entry of the hash table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Zero if the slot is empty.
    key: u64,
    row: u32,
}

/// Settled interactions, by nonzero key.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// Open addressing; the length is a power of two, and at most a quarter of the slots is used.
    slots: Vec<Slot>,
    /// Number of bits of a hash that are not part of its slot.
    shift: u32,
    used: usize,
}

impl Default for Settled {
    fn default() -> Self {
        Settled {
            slots: vec![Slot::default(); 256],
            shift: 64 - 8,
            used: 0,
        }
    }
}

impl Settled {
    /// Returns the row that a settled interaction marks; `None` if it is not settled.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let first = self.slots[self.first(key)];
        match first.key == key {
            true => Some(first.row),
            false => self.get_next(key),
        }
    }

    /// Returns the same for a key that is not in its first slot.
    #[inline(never)]
    fn get_next(&self, key: u64) -> Option<u32> {
        let slot = self.slots[self.probe(key)];
        (slot.key != 0).then_some(slot.row)
    }

    /// Adds an interaction that is not in the table.
    pub(super) fn insert(&mut self, key: u64, row: u32) {
        if (self.used + 1) * 4 > self.slots.len() {
            let larger = vec![Slot::default(); self.slots.len() * 2];
            self.shift -= 1;
            for old in std::mem::replace(&mut self.slots, larger) {
                if old.key != 0 {
                    let slot = self.probe(old.key);
                    self.slots[slot] = old;
                }
            }
        }
        let slot = self.probe(key);
        self.slots[slot] = Slot { key, row };
        self.used += 1;
    }

    /// Returns the slot where the search of a key begins: the high bits of a product depend on all
    /// bits of the key.
    #[inline]
    fn first(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Returns the slot of a key, or the empty slot where it would be.
    fn probe(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.first(key);
        while self.slots[slot].key != key && self.slots[slot].key != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_row() {
        let mut settled = Settled::default();
        let row = |key: u64| key as u32 / 3;
        let keys = || (1..2000).map(|number: u64| number << 20 | number);
        for key in keys() {
            assert_eq!(settled.get(key), None);
            settled.insert(key, row(key));
        }
        assert!(keys().all(|key| settled.get(key) == Some(row(key))));
        assert_eq!(settled.get(1 << 60), None);
    }
}
