//! Requirements and their identifiers.
//!
//! Every requirement that was covered, or that could be, has a small number, so that sets of them
//! are bit sets. The lookup of a pair of source locations is one multiplication and usually one
//! comparison. Metrics over the same pairs share an entry: every `follows` is a `sync-pair`.

use super::metric::Metric;
use crate::base::ids::SiteId;

/// A requirement of a coverage metric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Requirement {
    /// Its metric.
    pub metric: Metric,
    /// The source location, or the first of two.
    pub first: SiteId,
    /// The second source location, if the metric is about pairs.
    pub second: Option<SiteId>,
}

impl Requirement {
    /// Creates a requirement about one source location.
    pub fn at(metric: Metric, place: SiteId) -> Self {
        debug_assert!(!metric.is_pairwise());
        Requirement {
            metric,
            first: place,
            second: None,
        }
    }

    /// Creates a requirement about two source locations.
    pub fn pair(metric: Metric, first: SiteId, second: SiteId) -> Self {
        debug_assert!(metric.is_pairwise());
        Requirement {
            metric,
            first,
            second: Some(second),
        }
    }
}

/// Identifier of a requirement.
pub(crate) type Id = usize;

/// Returns the key space of a pairwise metric, and its index within an entry.
fn of_pair(metric: Metric) -> Option<(u64, usize)> {
    match metric {
        Metric::SyncPair => Some((1, 0)),
        Metric::Follows => Some((1, 1)),
        Metric::DefUse => Some((2, 0)),
        Metric::PSet => Some((2, 1)),
        Metric::BlockedPair => Some((3, 0)),
        Metric::LockOrder => Some((3, 1)),
        Metric::WaitNotify => Some((4, 0)),
        Metric::Adjacent => Some((4, 1)),
        Metric::Blocked | Metric::Blocking | Metric::LocalDef | Metric::RemoteDef => None,
    }
}

fn of_place(metric: Metric) -> usize {
    match metric {
        Metric::Blocked => 0,
        Metric::Blocking => 1,
        Metric::LocalDef => 2,
        _ => 3,
    }
}

/// An entry of the hash table. Identifiers are stored plus one; zero is none.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Zero if the slot is empty.
    key: u64,
    numbers: [u32; 2],
}

/// All requirements with an identifier.
#[derive(Clone, Debug)]
pub(crate) struct Catalogue {
    requirements: Vec<Requirement>,
    /// Open addressing; the length is a power of two.
    slots: Vec<Slot>,
    used: usize,
    /// By source location.
    places: Vec<[u32; 4]>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Catalogue {
            requirements: Vec::new(),
            slots: vec![Slot::default(); 256],
            used: 0,
            places: Vec::new(),
        }
    }
}

impl Catalogue {
    pub(crate) fn len(&self) -> usize {
        self.requirements.len()
    }

    pub(crate) fn get(&self, id: Id) -> Requirement {
        self.requirements[id]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, Requirement)> + '_ {
        self.requirements.iter().copied().enumerate()
    }

    /// Returns the identifier of a requirement about two source locations; assigns one if it has
    /// none.
    #[inline]
    pub(crate) fn pair(&mut self, metric: Metric, first: SiteId, second: SiteId) -> Id {
        let (kind, which) = of_pair(metric).unwrap_or_default();
        let slot = self.slot(kind, first, second);
        match self.slots[slot].numbers[which] {
            0 => self.add_pair(slot, which, Requirement::pair(metric, first, second)),
            number => number as Id - 1,
        }
    }

    /// Returns the identifier of a requirement about one source location; assigns one if it has
    /// none.
    #[inline]
    pub(crate) fn at(&mut self, metric: Metric, place: SiteId) -> Id {
        if place.index() >= self.places.len() {
            self.places.resize(place.index() + 1, [0; 4]);
        }
        match self.places[place.index()][of_place(metric)] {
            0 => {
                self.requirements.push(Requirement::at(metric, place));
                self.places[place.index()][of_place(metric)] = self.requirements.len() as u32;
                self.requirements.len() - 1
            }
            number => number as Id - 1,
        }
    }

    /// Returns the identifier of a requirement; assigns one if it has none.
    pub(crate) fn id(&mut self, requirement: Requirement) -> Id {
        match requirement.second {
            Some(second) => self.pair(requirement.metric, requirement.first, second),
            None => self.at(requirement.metric, requirement.first),
        }
    }

    /// Returns the identifier of a requirement, if it has one.
    pub(crate) fn find(&self, requirement: Requirement) -> Option<Id> {
        let number = match (requirement.second, of_pair(requirement.metric)) {
            (Some(second), Some((kind, which))) => {
                let slot = self.probe(key(kind, requirement.first, second));
                self.slots[slot].numbers[which]
            }
            _ => self.places.get(requirement.first.index())?[of_place(requirement.metric)],
        };
        (number as Id).checked_sub(1)
    }

    /// Returns the slot of a key, or the empty slot where it would be.
    #[inline]
    fn probe(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].key != key && self.slots[slot].key != 0 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline]
    fn slot(&mut self, kind: u64, first: SiteId, second: SiteId) -> usize {
        let key = key(kind, first, second);
        let slot = self.probe(key);
        match self.slots[slot].key {
            0 => self.occupy(slot, key),
            _ => slot,
        }
    }

    #[cold]
    fn occupy(&mut self, slot: usize, key: u64) -> usize {
        self.slots[slot].key = key;
        self.used += 1;
        if self.used * 2 <= self.slots.len() {
            return slot;
        }
        let larger = vec![Slot::default(); self.slots.len() * 2];
        for old in std::mem::replace(&mut self.slots, larger) {
            if old.key != 0 {
                let slot = self.probe(old.key);
                self.slots[slot] = old;
            }
        }
        self.probe(key)
    }

    #[cold]
    fn add_pair(&mut self, slot: usize, which: usize, requirement: Requirement) -> Id {
        self.requirements.push(requirement);
        self.slots[slot].numbers[which] = self.requirements.len() as u32;
        self.requirements.len() - 1
    }
}

#[inline]
fn key(kind: u64, first: SiteId, second: SiteId) -> u64 {
    kind << 60 | (first.index() as u64) << 30 | second.index() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_has_one_number() {
        let mut catalogue = Catalogue::default();
        let site = SiteId::new;
        let mut all = Vec::new();
        for first in 0..40 {
            for metric in Metric::ALL {
                match metric.is_pairwise() {
                    true => all.extend(
                        (0..10).map(|second| Requirement::pair(metric, site(first), site(second))),
                    ),
                    false => all.push(Requirement::at(metric, site(first))),
                }
            }
        }
        assert_eq!(catalogue.find(all[17]), None);
        let ids: Vec<_> = all.iter().map(|&it| catalogue.id(it)).collect();
        assert_eq!(ids, (0..all.len()).collect::<Vec<_>>());
        for (id, requirement) in all.iter().enumerate() {
            assert_eq!(catalogue.find(*requirement), Some(id));
            assert_eq!(catalogue.id(*requirement), id);
            assert_eq!(catalogue.get(id), *requirement);
        }
    }
}
