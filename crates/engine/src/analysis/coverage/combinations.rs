//! Combinatorial coverage: pairs of requirements that are covered together.
//!
//! - Unordered: `{r1, r2}` with r1 ≠ r2 is covered by an execution that covers both, in any order.
//!   Of n requirements there are n(n−1)/2. Usually over sync-pair and def-use together: catches
//!   atomicity violations, and interactions of three threads, that covering each alone may miss
//!   (Hong, 2015, section 4.2).
//! - Ordered: `⟨r1, r2⟩` with r1 ≠ r2 is covered by an execution in which some event that completes
//!   r1 precedes one that completes r2. Over `adjacent` and `sync-pair`; for comparing versions of
//!   a program (section 5.3.2).
//!
//! Each requirement has the set of requirements that it was covered with.

use super::bits::Bits;
use super::catalogue::Id;

/// Maximum number of combined requirements, because the number of pairs is quadratic: 8,192 rows of
/// 1 KiB are 8 MiB.
pub(crate) const MOST: usize = 8192;
/// Number of covered sets whose hashes are kept; bounds the memory to 32 KiB.
const REMEMBERED: usize = 1 << 12;

/// Pairs covered together, by their indexes among the combined requirements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combinations {
    /// Each pair is in the row of the lower index; also in the other row if both directions are
    /// kept.
    rows: Vec<Bits>,
    both_ways: bool,
    count: u64,
    /// Hashes of added sets, so that a repeated set is skipped.
    known: Vec<u64>,
}

impl Combinations {
    /// Returns the number of covered pairs.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Creates combinations in both directions, for queries of all requirements that one was
    /// covered with.
    pub(crate) fn both_ways() -> Self {
        Combinations {
            both_ways: true,
            ..Combinations::default()
        }
    }

    /// Returns the requirements covered together with one: those with higher indexes, or all.
    pub(crate) fn row(&self, member: usize) -> Option<&Bits> {
        self.rows.get(member)
    }

    /// Adds the set covered by one execution.
    pub(crate) fn add(&mut self, together: &Bits) {
        if self.remembers(together) {
            return;
        }
        for one in together.iter() {
            if one >= self.rows.len() {
                self.rows.resize_with(one + 1, Bits::default);
            }
            if together.has_above(one, &self.rows[one]) {
                self.add_above(one, together);
            }
        }
    }

    /// Adds the pairs of a requirement with those of higher indexes.
    #[cold]
    fn add_above(&mut self, one: usize, together: &Bits) {
        if !self.both_ways {
            self.count += u64::from(self.rows[one].absorb_above(one, together));
            return;
        }
        let others = together.iter().skip_while(|&other| other <= one);
        for other in others {
            self.add_pair(one, other);
        }
    }

    fn add_pair(&mut self, one: usize, other: usize) {
        let (low, high) = (one.min(other), one.max(other));
        if high >= self.rows.len() {
            self.rows.resize_with(high + 1, Bits::default);
        }
        if self.rows[low].insert(high) {
            self.count += 1;
            if self.both_ways {
                self.rows[high].insert(low);
            }
        }
    }

    fn remembers(&mut self, together: &Bits) -> bool {
        let words = together.words().iter().rev().skip_while(|word| **word == 0);
        let hash = words.fold(0x9e37_79b9_7f4a_7c15, |hash: u64, word| {
            (hash ^ word)
                .wrapping_mul(0xff51_afd7_ed55_8ccd)
                .rotate_left(29)
        });
        self.known.resize(REMEMBERED, 0);
        let slot = &mut self.known[hash as usize % REMEMBERED];
        std::mem::replace(slot, hash | 1) == hash | 1
    }

    /// Adds the pairs of another value; `member` translates its indexes.
    pub(crate) fn merge(&mut self, other: &Combinations, member: impl Fn(usize) -> Option<usize>) {
        for (one, row) in other.rows.iter().enumerate() {
            let Some(one) = member(one) else { continue };
            for other in row.iter().filter_map(&member) {
                self.add_pair(one, other);
            }
        }
    }
}

/// Pairs of requirements in the order of their coverage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ordered {
    /// For each requirement, those covered before it.
    rows: Vec<Bits>,
    count: u64,
    before: Bits,
}

impl Ordered {
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the requirements covered before this one in some execution.
    pub(crate) fn before(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let row = self.rows.get(id);
        row.into_iter()
            .flat_map(Bits::iter)
            .filter(move |&one| one != id)
    }

    /// Adds the requirements covered by one execution, in order.
    pub(crate) fn add(&mut self, order: &[Id]) {
        self.before.clear();
        for &id in order.iter().filter(|&&id| id < MOST) {
            if id >= self.rows.len() {
                self.rows.resize_with(id + 1, Bits::default);
            }
            self.rows[id].insert(id);
            self.count += u64::from(self.rows[id].absorb(&self.before));
            self.before.insert(id);
        }
    }

    /// Adds the pairs of another value.
    pub(crate) fn merge(&mut self, other: &Ordered, id: impl Fn(Id) -> Id) {
        for row in 0..other.rows.len() {
            let mut translated = Bits::default();
            other.before(row).for_each(|one| {
                translated.insert(id(one));
            });
            let row = id(row);
            if row >= self.rows.len() {
                self.rows.resize_with(row + 1, Bits::default);
            }
            self.rows[row].insert(row);
            self.count += u64::from(self.rows[row].absorb(&translated));
        }
    }
}
