//! Combinatorial coverage: requirements that are covered together.
//!
//! - Unordered: `{r1, r2}` with r1 ≠ r2 is covered by an execution that covers both, in whatever
//!   order. Of n requirements there are n(n−1)/2. Usually over sync-pair and def-use together: catches
//!   atomicity violations, and meetings of three threads, that covering each alone may miss (Hong,
//!   2015, section 4.2).
//! - Ordered: `⟨r1, r2⟩` with r1 ≠ r2 is covered by an execution in which some event that completes r1
//!   comes before one that completes r2. Over `adjacent` and `sync-pair`; for comparing versions of a
//!   program (section 5.3.2).
//!
//! For each requirement there is the set of those that it was covered with.

use super::bits::Bits;
use super::catalogue::Id;

/// Requirements past this many are not combined: their number would be squared.
pub(crate) const MOST: usize = 8192;
/// So many sets of requirements that executions covered are remembered.
const REMEMBERED: usize = 1 << 12;

/// Which requirements were covered together, by their places among those that are combined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combinations {
    /// Each pair is in the row of the lower number, and in that of the other one if somebody looks.
    rows: Vec<Bits>,
    both_ways: bool,
    count: u64,
    /// Hashes of sets that have been added, so that they cost nothing again.
    known: Vec<u64>,
}

impl Combinations {
    /// How many pairs were covered.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The same, for somebody who looks at all that a requirement was covered with.
    pub(crate) fn both_ways() -> Self {
        Combinations {
            both_ways: true,
            ..Combinations::default()
        }
    }

    /// With which others a requirement was covered: those with higher numbers, or all.
    pub(crate) fn row(&self, member: usize) -> Option<&Bits> {
        self.rows.get(member)
    }

    /// Adds what one execution covered.
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

    /// Adds the pairs of a requirement with those that have higher numbers.
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

    /// Adds the pairs that another has; `member` is what is called so there.
    pub(crate) fn merge(&mut self, other: &Combinations, member: impl Fn(usize) -> Option<usize>) {
        for (one, row) in other.rows.iter().enumerate() {
            let Some(one) = member(one) else { continue };
            for other in row.iter().filter_map(&member) {
                self.add_pair(one, other);
            }
        }
    }
}

/// Pairs of requirements in the order they were covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ordered {
    /// For each requirement those that came before it.
    rows: Vec<Bits>,
    count: u64,
    before: Bits,
}

impl Ordered {
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// What comes before a requirement in some execution.
    pub(crate) fn before(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let row = self.rows.get(id);
        row.into_iter()
            .flat_map(Bits::iter)
            .filter(move |&one| one != id)
    }

    /// Adds what one execution covered, in its order.
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

    /// Adds the pairs that another has.
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
