//! The statistics of the study: correlation and regression, tests that assume no distribution, and effect size.
//!
//! All tests are exact or draw permutations from a seed; none approximates by a normal distribution. The expected
//! figures of the unit tests are published ones, each with its source.

mod correlation;
mod permutation;
mod ranks;
mod regression;

pub(super) use correlation::{mean, pearson};
pub(super) use permutation::sign_flips;
pub(super) use ranks::{rank_sum, signed_rank};
pub(super) use regression::{Controls, adjusted_r2};

/// Returns p-values adjusted for several tests by Holm's method, in the order of the given ones.
pub(super) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&one, &other| p_values[one].total_cmp(&p_values[other]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max(p_values[index] * (p_values.len() - rank) as f64);
        adjusted[index] = largest.min(1.0);
    }
    adjusted
}

/// Returns the median; `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length.is_multiple_of(2) => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
pub(super) fn is_near(value: f64, expected: f64, by: f64) -> bool {
    (value - expected).abs() <= by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the article "Holm–Bonferroni method" of Wikipedia, whose third and fourth hypotheses are
    /// not rejected at 0.05.
    #[test]
    fn several_tests_are_adjusted_by_holms_method() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (value, expected) in adjusted.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!(is_near(value, expected, 1e-12), "{value} {expected}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn the_median_is_between_the_two_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
