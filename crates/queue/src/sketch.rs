//! The number of different classes of a search: exact while it is small, and then a sketch of constant size.
//!
//! The sketch is HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, AofA 2007). A class belongs to one of 4096 registers
//! by twelve bits of its hash, and has a rank: the position of the first one among the other bits. A register keeps the
//! highest rank, so the order of commits and repeated classes make no difference, and sketches are merged by maxima.

use std::collections::BTreeMap;

/// Number of classes up to which a queue counts exactly.
pub const MAX_EXACT_CLASSES: u64 = 1 << 16;

/// Number of bits that select a register. The standard error is 1.04 / sqrt(4096), which is 1.6 %.
const BITS: u32 = 12;
const REGISTERS: u64 = 1 << BITS;

/// The number of different classes of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassCount {
    /// The exact number.
    Exact(u64),
    /// The estimate of a sketch, with a standard error of 1.6 %.
    About(u64),
}

impl Default for ClassCount {
    fn default() -> Self {
        ClassCount::Exact(0)
    }
}

/// Returns the registers of these classes with the highest rank of each.
pub(crate) fn ranks(classes: &[u64]) -> BTreeMap<u16, u8> {
    let mut ranks: BTreeMap<u16, u8> = BTreeMap::new();
    for &class in classes {
        let hash = mixed(class);
        let register = (hash >> (u64::BITS - BITS)) as u16;
        let rank = ((hash << BITS).leading_zeros().min(u64::BITS - BITS) + 1) as u8;
        let highest = ranks.entry(register).or_default();
        *highest = rank.max(*highest);
    }
    ranks
}

/// Returns the estimate of a sketch, from the number of registers of each rank.
pub(crate) fn estimate(registers: impl IntoIterator<Item = (u8, u64)>) -> u64 {
    let mut empty = REGISTERS as f64;
    let mut sum = 0.0;
    for (rank, count) in registers {
        empty -= count as f64;
        sum += count as f64 * (-f64::from(rank)).exp2();
    }
    let all = REGISTERS as f64;
    let correction = 0.7213 / (1.0 + 1.079 / all);
    (correction * all * all / (sum + empty.max(0.0))).round() as u64
}

/// The finalizer of SplitMix64: every bit of a class affects every bit of the result.
fn mixed(class: u64) -> u64 {
    let mut hash = class.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        hash = (hash ^ hash >> shift).wrapping_mul(factor);
    }
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(ranks: &BTreeMap<u16, u8>) -> BTreeMap<u8, u64> {
        let mut counts = BTreeMap::new();
        for &rank in ranks.values() {
            *counts.entry(rank).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn the_estimate_has_the_standard_error_of_the_paper() {
        for count in [MAX_EXACT_CLASSES + 1, 200_000] {
            let errors: Vec<f64> = (0..20)
                .map(|round| {
                    // Consecutive numbers are the worst hashes.
                    let classes: Vec<u64> = (0..count).map(|it| it + (round << 40)).collect();
                    let found = estimate(histogram(&ranks(&classes)));
                    found as f64 / count as f64 - 1.0
                })
                .collect();
            let squares: f64 = errors.iter().map(|error| error * error).sum();
            let deviation = (squares / errors.len() as f64).sqrt();
            // The deviation of 20 rounds is within these bounds in 999 of 1000 cases.
            assert!((0.007..0.027).contains(&deviation), "{count}: {deviation}");
        }
    }

    #[test]
    fn a_sketch_does_not_depend_on_order_and_repetition() {
        let classes: Vec<u64> = (0..10_000).collect();
        let mut shuffled: Vec<u64> = classes.iter().rev().copied().collect();
        shuffled.extend(&classes[..5_000]);
        assert_eq!(ranks(&classes), ranks(&shuffled));
    }
}
