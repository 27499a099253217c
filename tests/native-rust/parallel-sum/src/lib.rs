//! Sums of many numbers, by several threads.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use rayon::prelude::*;

pub fn sum(numbers: &[u64]) -> u64 {
    numbers.par_iter().sum()
}

/// Adds to one number, in two steps.
pub fn sum_in_two_steps(numbers: &[u64]) -> u64 {
    let sum = AtomicU64::new(0);
    numbers.par_iter().for_each(|number| {
        let before = sum.load(SeqCst);
        sum.store(before + number, SeqCst);
    });
    sum.into_inner()
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;

    fn with_two_threads(sum: fn(&[u64]) -> u64) {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| sum(&[1, 2])), 3);
    }

    #[test]
    fn all_is_summed() {
        with_two_threads(sum);
    }

    #[test]
    fn all_is_summed_in_two_steps() {
        with_two_threads(sum_in_two_steps);
    }
}
