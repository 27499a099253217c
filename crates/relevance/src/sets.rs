//! Interned sets: a set is a number, equal sets have equal numbers, and unions are remembered.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// An interned set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Set(u32);

/// The set without members, of every [`Sets`].
pub(crate) const EMPTY: Set = Set(0);

/// All sets of members of one type.
pub(crate) struct Sets<T> {
    members: Vec<Rc<[T]>>,
    numbers: HashMap<Rc<[T]>, Set>,
    unions: HashMap<(Set, Set), Set>,
}

impl<T: Copy + Ord + Hash> Sets<T> {
    pub(crate) fn new() -> Self {
        let mut sets = Self {
            members: Vec::new(),
            numbers: HashMap::new(),
            unions: HashMap::new(),
        };
        sets.intern(Vec::new());
        sets
    }

    /// Returns the set with these members.
    pub(crate) fn intern(&mut self, mut members: Vec<T>) -> Set {
        members.sort_unstable();
        members.dedup();
        let members: Rc<[T]> = members.into();
        if let Some(&known) = self.numbers.get(&members) {
            return known;
        }
        let number = u32::try_from(self.members.len()).expect("fewer than 2^32 sets");
        self.members.push(members.clone());
        self.numbers.insert(members, Set(number));
        Set(number)
    }

    pub(crate) fn one(&mut self, member: T) -> Set {
        self.intern(vec![member])
    }

    /// Returns the members in ascending order.
    pub(crate) fn members(&self, set: Set) -> Rc<[T]> {
        self.members[set.0 as usize].clone()
    }

    pub(crate) fn contains(&self, set: Set, member: T) -> bool {
        self.members[set.0 as usize].binary_search(&member).is_ok()
    }

    pub(crate) fn union(&mut self, one: Set, other: Set) -> Set {
        if one == other || other == EMPTY {
            return one;
        }
        if one == EMPTY {
            return other;
        }
        let key = (one.min(other), one.max(other));
        if let Some(&known) = self.unions.get(&key) {
            return known;
        }
        let members = [self.members(one), self.members(other)].concat();
        let union = self.intern(members);
        self.unions.insert(key, union);
        union
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_set() {
        let mut sets = Sets::new();
        let both = sets.intern(vec![2, 1, 2]);
        let (one, two) = (sets.one(1), sets.one(2));
        assert_eq!(sets.union(one, two), both);
        assert_eq!(sets.union(two, one), both);
        assert_eq!(sets.union(both, EMPTY), both);
        assert_eq!(sets.members(both)[..], [1, 2]);
        assert!(sets.contains(both, 2) && !sets.contains(one, 2));
    }
}
