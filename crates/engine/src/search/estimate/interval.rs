//! Confidence intervals of estimated tree sizes.

/// Returns the mean of independent unbiased samples, and a 95 % confidence interval of the true
/// mean.
///
/// Samples of the size of a tree are skewed: many are a little too small and few much too large.
/// Their logarithms are nearly normal, so this is Cox's interval of the mean of a lognormal
/// distribution, with Student's quantile because there are few samples. Two corrections widen it:
/// sampling stops when the samples agree, and the largest subtrees are the easiest to miss, the more so the fewer
/// runs there are. `finest` is the least relative width, however well the samples agree: the inverse square root of
/// the number of runs, or 0 for an exact count.
pub(crate) fn interval(samples: &[f64], finest: f64) -> (f64, f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    if mean <= 0.0 {
        return (0.0, 0.0, 0.0);
    }
    // A sample of zero has no logarithm.
    let logarithms = samples.iter().map(|sample| (sample / mean).max(1e-3).ln());
    let centre = logarithms.clone().sum::<f64>() / count;
    let squares: f64 = logarithms.map(|it| (it - centre).powi(2)).sum();
    let degrees = (count - 1.0).max(1.0);
    let variance = squares / degrees;
    let error = variance / count;
    let skew = variance * variance / (2.0 * degrees);
    let width = |error: f64| (STOPPED_EARLY * student(samples.len()) * error.sqrt()).max(finest);
    let missed = variance / 2.0;
    let few_runs = 1.0 + FEW_RUNS * finest;
    (
        mean,
        mean * (-width(error)).exp(),
        mean * (few_runs * (width(error + skew) + missed)).exp(),
    )
}

/// Factor that widens the interval, because sampling stops as soon as it is narrow.
const STOPPED_EARLY: f64 = 1.2;
/// Factor on the least width that widens the upper end. With 240 runs the upper end of programs of known size had to
/// be half as far again from the mean to contain the size in 19 of 20 samples; with 10,000 runs it did not.
const FEW_RUNS: f64 = 8.0;

/// Returns the 97.5 % quantile of Student's distribution for the mean of this many samples.
fn student(samples: usize) -> f64 {
    const QUANTILES: [f64; 10] = [
        12.706, 12.706, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
    ];
    match QUANTILES.get(samples) {
        Some(&quantile) => quantile,
        // Approximation, within one percent.
        None => 1.96 + 2.7 / (samples as f64 - 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    #[test]
    fn samples_that_agree_are_believed_up_to_a_point() {
        let (mean, low, high) = interval(&[8.0; 10], 0.1);
        assert_eq!(mean, 8.0);
        assert!((low - 8.0 * (-0.1f64).exp()).abs() < 1e-9);
        assert!((high - 8.0 * 0.18f64.exp()).abs() < 1e-9);
        assert_eq!(interval(&[8.0], 0.0), (8.0, 8.0, 8.0));
        assert_eq!(interval(&[0.0, 0.0], 0.1), (0.0, 0.0, 0.0));
    }

    /// Checks with lognormal samples of a known mean that the interval contains it in at least 94 %
    /// of the rounds.
    #[test]
    fn an_interval_has_the_mean_in_it() {
        let mut rng = Rng::new(3);
        for deviation in [0.05, 0.3, 1.0] {
            let truth = f64::exp(deviation * deviation / 2.0);
            let rounds = 2_000;
            let inside = (0..rounds).filter(|_| {
                let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                let samples: Vec<_> = (0..10).map(|_| (deviation * normal()).exp()).collect();
                let (_, low, high) = interval(&samples, 0.0);
                (low..=high).contains(&truth)
            });
            let share = inside.count() as f64 / f64::from(rounds);
            assert!(share > 0.94, "{share} for a deviation of {deviation}");
        }
    }
}
