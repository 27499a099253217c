//! Tables by address.

/// A map from addresses to values, by open addressing. Changing the stamp clears it in one step.
pub(crate) struct Table<V> {
    slots: Vec<Slot<V>>,
    /// Slots with another stamp are free.
    stamp: u64,
    live: usize,
}

#[derive(Clone)]
struct Slot<V> {
    address: usize,
    stamp: u64,
    /// None if the value was removed.
    value: Option<V>,
}

const FIRST_SIZE: usize = 1024;

impl<V: Clone> Default for Table<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone> Table<V> {
    pub(crate) const fn new() -> Self {
        Table {
            slots: Vec::new(),
            stamp: 1,
            live: 0,
        }
    }

    /// Removes all values.
    pub(crate) fn clear(&mut self) {
        self.stamp += 1;
        self.live = 0;
    }

    #[inline]
    pub(crate) fn get(&mut self, address: usize) -> Option<&mut V> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slot(address);
        let slot = &mut self.slots[slot];
        match slot.stamp == self.stamp {
            true => slot.value.as_mut(),
            false => None,
        }
    }

    pub(crate) fn insert(&mut self, address: usize, value: V) -> &mut V {
        if self.live * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(address);
        let slot = &mut self.slots[slot];
        self.live += usize::from(slot.stamp != self.stamp);
        slot.address = address;
        slot.stamp = self.stamp;
        slot.value.insert(value)
    }

    /// Removes the values of these addresses.
    pub(crate) fn forget(&mut self, range: std::ops::Range<usize>) {
        for slot in &mut self.slots {
            if slot.stamp == self.stamp && range.contains(&slot.address) {
                slot.value = None;
            }
        }
    }

    /// Returns the index of the slot that has the address, or of the free slot for it. The table is
    /// not empty.
    #[inline]
    fn slot(&self, address: usize) -> usize {
        let mask = self.slots.len() - 1;
        let hash = (address as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let found = &self.slots[slot];
            if found.stamp != self.stamp || found.address == address {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = empty((self.slots.len() * 2).max(FIRST_SIZE));
        let old = std::mem::replace(&mut self.slots, larger);
        for one in old {
            if one.stamp == self.stamp {
                let slot = self.slot(one.address);
                self.slots[slot] = one;
            }
        }
    }
}

fn empty<V: Clone>(size: usize) -> Vec<Slot<V>> {
    let slot = Slot {
        address: 0,
        stamp: 0,
        value: None,
    };
    vec![slot; size]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Table;
    use crate::random_inputs::Inputs;

    /// Draws an address: some are close to each other, others differ in high bits only.
    fn address(inputs: &mut Inputs) -> usize {
        (inputs.below(300) * 4 + (inputs.below(3) << 44)) as usize
    }

    #[test]
    fn a_table_is_a_map() {
        for seed in 0..20 {
            let mut inputs = Inputs::new(seed);
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            for value in 0..5_000u64 {
                let at = address(&mut inputs);
                match inputs.below(1_000) {
                    0..400 => {
                        assert_eq!(*table.insert(at, value), value);
                        map.insert(at, value);
                    }
                    400..980 => assert_eq!(table.get(at).copied(), map.get(&at).copied()),
                    980..998 => {
                        let range = at..at + inputs.below(200) as usize;
                        table.forget(range.clone());
                        map.retain(|at, _| !range.contains(at));
                    }
                    _ => {
                        table.clear();
                        map.clear();
                    }
                }
            }
            for (&at, &value) in &map {
                assert_eq!(table.get(at).copied(), Some(value));
            }
        }
    }

    #[test]
    fn an_empty_table_has_nothing_anywhere() {
        let mut table = Table::<u8>::new();
        assert!(table.get(0).is_none());
        table.forget(0..usize::MAX);
        table.insert(0, 1);
        assert_eq!(table.get(0).copied(), Some(1));
        table.clear();
        assert!(table.get(0).is_none());
    }
}
