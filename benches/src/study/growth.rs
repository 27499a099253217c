//! Growth of coverage and of failure detection with the number of executions, and detection by coverage.
//!
//! The curves are expectations over all orders of the recorded executions, computed and not drawn: a requirement that c of
//! E executions cover is missed by n of them with the probability of drawing none of the c.

use super::record::{Covered, Records};
use super::suites::Suite;

/// Width of the intervals of coverage, in percent.
pub(super) const BIN: usize = 5;
/// Number of these intervals; the first and the last are half as wide.
pub(super) const BINS: usize = 100 / BIN + 1;

/// Chances of missing things that some executions show.
pub(super) struct Draws {
    /// Logarithms of factorials.
    logarithms: Vec<f64>,
}

impl Draws {
    pub(super) fn new(executions: usize) -> Self {
        let mut logarithms = vec![0.0];
        for number in 1..=executions {
            logarithms.push(logarithms[number - 1] + (number as f64).ln());
        }
        Draws { logarithms }
    }

    /// Returns the probability that some of `count` executions are among `drawn` of all.
    pub(super) fn shows(&self, count: usize, drawn: usize) -> f64 {
        let all = self.logarithms.len() - 1;
        if count + drawn > all {
            return if count > 0 { 1.0 } else { 0.0 };
        }
        let of = |number: usize| self.logarithms[number];
        let misses = of(all - count) - of(all - count - drawn) - of(all) + of(all - drawn);
        1.0 - misses.exp()
    }
}

/// Returns the numbers of executions at which curves are drawn: about equal steps of the logarithm.
pub(super) fn steps(executions: usize) -> Vec<usize> {
    let mut steps = vec![1];
    while let Some(&last) = steps.last().filter(|last| **last < executions) {
        steps.push((last + (last / 4).max(1)).min(executions));
    }
    steps
}

/// Returns the expected part of the requirements that each number of executions covers.
pub(super) fn of_coverage(covered: &Covered, draws: &Draws, steps: &[usize]) -> Vec<f64> {
    let frequencies = covered.frequencies();
    let at = |&drawn: &usize| {
        let all: f64 = frequencies
            .iter()
            .map(|&count| draws.shows(count, drawn))
            .sum();
        all / frequencies.len() as f64
    };
    steps.iter().map(at).collect()
}

/// Returns the probability that each number of executions has a failure.
pub(super) fn of_detection(records: &Records, draws: &Draws, steps: &[usize]) -> Vec<f64> {
    let failures = records.failures();
    steps
        .iter()
        .map(|&drawn| draws.shows(failures, drawn))
        .collect()
}

/// Returns the mean detection of the suites in each interval of coverage; `None` where there are none.
pub(super) fn by_coverage(
    covered: &Covered,
    suites: &[Suite],
    detection: &[f64],
) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u32); BINS];
    for (suite, detects) in suites.iter().zip(detection) {
        let percent = 100.0 * f64::from(covered.count(suite)) / covered.requirements as f64;
        let (sum, count) = &mut sums[(percent / BIN as f64).round() as usize];
        *sum += detects;
        *count += 1;
    }
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    sums.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::statistics::is_near;

    /// Of ten executions, three show something: 1 - (7 choose n) / (10 choose n).
    #[test]
    fn chances_are_those_of_drawing_without_replacement() {
        let draws = Draws::new(10);
        for (drawn, expected) in [
            (0, 0.0),
            (1, 0.3),
            (2, 1.0 - 21.0 / 45.0),
            (7, 1.0 - 1.0 / 120.0),
        ] {
            assert!(is_near(draws.shows(3, drawn), expected, 1e-12), "{drawn}");
        }
        assert_eq!((draws.shows(3, 8), draws.shows(0, 10)), (1.0, 0.0));
    }

    #[test]
    fn curves_end_with_everything() {
        let covered = Covered::new(&[vec![0], vec![0, 1], vec![0], vec![2]]);
        let steps = steps(4);
        assert_eq!(steps, [1, 2, 3, 4]);
        let curve = of_coverage(&covered, &Draws::new(4), &steps);
        assert!(
            is_near(curve[0], (0.75 + 0.25 + 0.25) / 3.0, 1e-12),
            "{curve:?}"
        );
        assert!(is_near(curve[3], 1.0, 1e-12));
        let bins = by_coverage(
            &covered,
            &[vec![0], vec![0, 2], vec![0, 1, 3]],
            &[0.0, 1.0, 1.0],
        );
        // A third is nearest to 35 percent.
        assert_eq!((bins[7], bins[20], bins[10]), (Some(0.5), Some(1.0), None));
    }
}
