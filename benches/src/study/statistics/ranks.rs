//! Wilcoxon's tests, and the effect size A12.
//!
//! The distributions are those of the ranks that there are, ties included, counted exactly: of all signs of the
//! differences, or of all ways to divide the values into two samples.

/// Largest numbers of cases whose distributions are counted: beyond, the tables take too long.
const MOST_PAIRS: usize = 1_000;
const MOST_VALUES: usize = 200;

/// The result of a signed-rank test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SignedRank {
    /// Number of differences that are not zero.
    pub(crate) pairs: usize,
    /// Sum of the ranks of the positive differences.
    pub(crate) positive: f64,
    /// Two-sided p-value.
    pub(crate) p: f64,
}

/// The result of a rank-sum test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RankSum {
    /// Number of pairs in which the first sample has the larger value; ties count one half.
    pub(crate) u: f64,
    /// Two-sided p-value.
    pub(crate) p: f64,
    /// Effect size of Vargha and Delaney: the probability that a value of the first sample is larger.
    pub(crate) a12: f64,
}

/// Returns the ranks of values, times two so that those of ties are integers.
fn double_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let is_tied = |&&index: &&usize| values[index] == values[order[first]];
        let tied = order[first..].iter().take_while(is_tied).count();
        // The mean of the ranks first + 1 up to first + tied.
        for &index in &order[first..first + tied] {
            ranks[index] = 2 * first + tied + 1;
        }
        first += tied;
    }
    ranks
}

/// Wilcoxon's signed-rank test of differences against a distribution that is symmetric about zero. Differences of zero
/// are left out. `None` if there are no others, or too many.
pub(crate) fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    let differences: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|it| *it != 0.0)
        .collect();
    if differences.is_empty() || differences.len() > MOST_PAIRS {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|it| it.abs()).collect();
    let ranks = double_ranks(&sizes);
    let all: usize = ranks.iter().sum();
    let positive: usize = (ranks.iter().zip(&differences))
        .filter(|(_, difference)| **difference > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    // Probability of each sum, with each sign as likely as the other.
    let mut probability = vec![0.0; all + 1];
    probability[0] = 1.0;
    let mut largest = 0;
    for &rank in &ranks {
        for sum in (0..=largest).rev() {
            let half = probability[sum] / 2.0;
            probability[sum] = half;
            probability[sum + rank] += half;
        }
        largest += rank;
    }
    let smaller = positive.min(all - positive);
    let tail: f64 = probability[..=smaller].iter().sum();
    Some(SignedRank {
        pairs: differences.len(),
        positive: positive as f64 / 2.0,
        p: (2.0 * tail).min(1.0),
    })
}

/// Wilcoxon's rank-sum test (that of Mann and Whitney) of two independent samples. `None` if one is empty or both are
/// too many.
pub(crate) fn rank_sum(one: &[f64], other: &[f64]) -> Option<RankSum> {
    let (first, second) = (one.len(), other.len());
    if first == 0 || second == 0 || first + second > MOST_VALUES {
        return None;
    }
    let values: Vec<f64> = one.iter().chain(other).copied().collect();
    let ranks = double_ranks(&values);
    let observed: usize = ranks[..first].iter().sum();
    let all: usize = ranks.iter().sum();
    // By number of values and sum of ranks: probability that the first sample has these of the values so far, if any
    // set of `first` values is as likely as another.
    let mut table = vec![vec![0.0_f64; all + 1]; first + 1];
    table[0][0] = 1.0;
    for (index, &rank) in ranks.iter().enumerate() {
        let left = (values.len() - index) as f64;
        let most = first.min(index);
        for count in (0..=most).rev() {
            let taken = (first - count) as f64 / left;
            let (low, high) = table.split_at_mut(count + 1);
            for (sum, probability) in low[count].iter_mut().enumerate() {
                if *probability > 0.0 {
                    if taken > 0.0 {
                        high[0][sum + rank] += *probability * taken;
                    }
                    *probability *= 1.0 - taken;
                }
            }
        }
    }
    let below: f64 = table[first][..=observed].iter().sum();
    let above: f64 = table[first][observed..].iter().sum();
    let u = (observed as f64 - (first * (first + 1)) as f64) / 2.0;
    Some(RankSum {
        u,
        p: (2.0 * below.min(above)).min(1.0),
        a12: u / (first * second) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::super::is_near;
    use super::*;

    /// M. Hollander, D. A. Wolfe, "Nonparametric Statistical Methods", 1973, p. 29: a scale of depression before and
    /// after. R's documentation of `wilcox.test` has V = 40 and the one-sided p-value 0.01953.
    #[test]
    fn the_signed_rank_test_is_as_published() {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [
            0.878,
            0.647,
            0.598,
            2.05,
            1.06,
            1.29,
            1.06,
            314.0 / 100.0,
            1.29,
        ];
        let differences: Vec<f64> = before.iter().zip(after).map(|(x, y)| x - y).collect();
        let test = signed_rank(&differences).unwrap();
        assert_eq!((test.pairs, test.positive), (9, 40.0));
        assert!(is_near(test.p, 2.0 * 0.01953, 0.00001), "{test:?}");
    }

    /// The same book, p. 69: permeability of membranes at term and earlier. R's documentation has W = 35 and the
    /// one-sided p-value 0.1272.
    #[test]
    fn the_rank_sum_test_is_as_published() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let test = rank_sum(&term, &earlier).unwrap();
        assert_eq!(test.u, 35.0);
        assert!(is_near(test.p, 2.0 * 0.1272, 0.0001), "{test:?}");
        assert!(is_near(test.a12, 35.0 / 50.0, 1e-12));
    }

    /// The documentation of SciPy's `mannwhitneyu`: ages at which a disease was found; U = 17, p = 0.1111.
    #[test]
    fn a_small_rank_sum_test_is_as_published() {
        let test = rank_sum(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0]).unwrap();
        assert_eq!(test.u, 17.0);
        assert!(is_near(test.p, 0.111_111_11, 1e-8), "{test:?}");
    }

    /// With ties, all signs and all divisions are enumerated one by one.
    #[test]
    fn ties_are_counted_as_by_enumeration() {
        let differences = [2.0, -2.0, 1.0, 3.0, 3.0, -1.0, 5.0];
        let test = signed_rank(&differences).unwrap();
        let ranks = [3.5, 3.5, 1.5, 5.5, 5.5, 1.5, 7.0];
        let sum = |signs: usize| -> f64 {
            let chosen = ranks
                .iter()
                .enumerate()
                .filter(|(index, _)| signs >> index & 1 == 1);
            chosen.map(|(_, rank)| rank).sum()
        };
        let extreme = (0..128)
            .filter(|&signs| sum(signs) >= test.positive)
            .count();
        assert_eq!(test.positive, 3.5 + 1.5 + 5.5 + 5.5 + 7.0);
        assert!(
            is_near(test.p, 2.0 * extreme as f64 / 128.0, 1e-12),
            "{test:?}"
        );

        let (one, other) = ([1.0, 2.0, 2.0], [2.0, 3.0, 3.0, 4.0]);
        let test = rank_sum(&one, &other).unwrap();
        let ranks = [1.0, 3.0, 3.0, 3.0, 5.5, 5.5, 7.0];
        let sums: Vec<f64> = (0..128_usize)
            .filter(|set| set.count_ones() == 3)
            .map(|set| {
                (0..7)
                    .filter(|index| set >> index & 1 == 1)
                    .map(|it| ranks[it])
                    .sum()
            })
            .collect();
        let below = sums.iter().filter(|&&sum| sum <= 7.0).count();
        assert_eq!(sums.len(), 35);
        assert!(
            is_near(test.p, 2.0 * below as f64 / 35.0, 1e-12),
            "{test:?}"
        );
        assert_eq!(test.u, 1.0);
    }

    #[test]
    fn nothing_is_tested_without_values() {
        assert_eq!(signed_rank(&[0.0, 0.0]), None);
        assert_eq!(rank_sum(&[], &[1.0]), None);
        let equal = rank_sum(&[1.0, 1.0], &[1.0, 1.0]).unwrap();
        assert_eq!((equal.p, equal.a12), (1.0, 0.5));
    }
}
