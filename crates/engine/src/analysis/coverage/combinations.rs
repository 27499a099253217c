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
//! Each requirement has a row: the set of requirements that it was covered with.

use super::bits::{Bits, numbers};
use super::catalogue::Id;

/// Maximum number of combined requirements, because the number of pairs is quadratic: 8,192 rows of
/// 1 KiB are 8 MiB.
pub(crate) const MOST: usize = 8192;
/// Number of covered sets whose hashes are kept; bounds the memory to 32 KiB.
const REMEMBERED: usize = 1 << 12;
/// Rows are multiples of this many words, so that loops over them need no remainder.
const BLOCK: usize = 4;

/// Pairs covered together, by their rows.
///
/// They are counted on demand: adding a set is then a loop without a branch for each pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct Combinations {
    /// A matrix of bits. Each pair is in the row of the lower index; also in the other row if both
    /// directions are kept.
    words: Vec<u64>,
    /// Number of words of a row.
    width: usize,
    both_ways: bool,
    /// Hashes of added sets, so that a repeated set is skipped.
    known: Vec<u64>,
    /// The set that is added, as long as a row.
    set: Vec<u64>,
}

impl Combinations {
    /// Returns the number of covered pairs.
    pub(crate) fn count(&self) -> u64 {
        let mut count = 0;
        for one in 0..self.height() {
            let (first, above) = (one / 64, !0 << (one % 64) << 1);
            let row = &self.row(one)[first..];
            let later: u64 = row[1..]
                .iter()
                .map(|word| u64::from(word.count_ones()))
                .sum();
            count += u64::from((row[0] & above).count_ones()) + later;
        }
        count
    }

    /// Creates combinations in both directions, for queries of all requirements that one was
    /// covered with.
    pub(crate) fn both_ways() -> Self {
        Combinations {
            both_ways: true,
            ..Combinations::default()
        }
    }

    /// Number of rows.
    pub(crate) fn height(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    /// Returns the requirements covered together with one, and itself: at least those with higher
    /// indexes, or all if both directions are kept. Empty if there is no such row.
    pub(crate) fn row(&self, one: usize) -> &[u64] {
        let row = self.words.get(one * self.width..(one + 1) * self.width);
        row.unwrap_or_default()
    }

    /// Adds the set covered by one execution. Returns true when some pair is new, if both directions
    /// are kept, and false otherwise.
    pub(crate) fn add(&mut self, together: &Bits) -> bool {
        if self.remembers(together) {
            return false;
        }
        let mut set = std::mem::take(&mut self.set);
        set.clear();
        set.extend_from_slice(together.words());
        let used = set
            .iter()
            .rposition(|&word| word != 0)
            .map_or(0, |last| last + 1);
        let highest = set[..used]
            .last()
            .map_or(0, |last| last.leading_zeros() as usize);
        self.reserve(used * 64 - highest);
        set.resize(used.next_multiple_of(BLOCK), 0);
        let mut is_new = false;
        for one in numbers(&set) {
            let row = &mut self.words[one * self.width..][..set.len()];
            if self.both_ways {
                is_new |= add_all(row, &set);
            } else {
                // Also marks lower indexes of the first block, which have their pair in their row.
                let first = one / (64 * BLOCK) * BLOCK;
                add_from(&mut row[first..], &set[first..]);
            }
        }
        self.set = set;
        is_new
    }

    /// Makes room for as many rows.
    fn reserve(&mut self, rows: usize) {
        let width = rows.div_ceil(64).next_multiple_of(BLOCK);
        if width > self.width {
            let width = width.next_power_of_two();
            let mut words = vec![0; self.height() * width];
            if self.width > 0 {
                let old = self.words.chunks_exact(self.width);
                for (new, old) in words.chunks_exact_mut(width).zip(old) {
                    new[..old.len()].copy_from_slice(old);
                }
            }
            (self.words, self.width) = (words, width);
        }
        if rows > self.height() {
            self.words.resize(rows * self.width, 0);
        }
    }

    fn add_pair(&mut self, one: usize, other: usize) {
        let (low, high) = (one.min(other), one.max(other));
        self.reserve(high + 1);
        let mut set = |row: usize, bit: usize| {
            self.words[row * self.width + bit / 64] |= 1 << (bit % 64);
        };
        set(low, high);
        if self.both_ways {
            set(high, low);
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

    /// Adds the pairs of another value; `row` translates its indexes.
    pub(crate) fn merge(
        &mut self,
        other: &Combinations,
        mut row: impl FnMut(usize) -> Option<usize>,
    ) {
        let rows: Vec<_> = (0..other.height()).map(&mut row).collect();
        for (one, &mine) in rows.iter().enumerate() {
            let Some(mine) = mine else { continue };
            let others = numbers(other.row(one)).filter(|&other| other > one);
            for other in others.filter_map(|other| rows[other]) {
                self.add_pair(mine, other);
            }
        }
    }
}

/// Adds a set to a row; both have whole blocks.
#[inline]
fn add_from(row: &mut [u64], set: &[u64]) {
    for (mine, theirs) in row.chunks_exact_mut(BLOCK).zip(set.chunks_exact(BLOCK)) {
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine |= theirs;
        }
    }
}

/// Adds a set to a row; true when it adds a number.
fn add_all(row: &mut [u64], set: &[u64]) -> bool {
    let mut new = 0;
    for (mine, theirs) in row.iter_mut().zip(set) {
        new |= theirs & !*mine;
        *mine |= theirs;
    }
    new != 0
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
