//! Some of many, each with a probability of its own.

use crate::base::rng::Rng;

/// Says which of some things to take so that about `width` are taken, each with a probability in
/// proportion to its measure, at most 1: that probability for those taken, nothing for others.
///
/// Of neighbours one is taken soon after another was not, so it pays to have those side by side
/// that are alike (systematic sampling).
pub(crate) fn systematic_sample(measures: &[f64], width: usize, rng: &mut Rng) -> Vec<Option<f64>> {
    let mut certain = vec![false; measures.len()];
    // What is too large for its share is taken for certain, which makes less room for others.
    let (left, sum) = loop {
        let others = || {
            measures
                .iter()
                .zip(&certain)
                .filter(|(_, certain)| !**certain)
        };
        let sum: f64 = others().map(|(measure, _)| measure).sum();
        let left = width.saturating_sub(measures.len() - others().count()) as f64;
        let is_too_large = |measure: f64| left > 0.0 && measure * left >= sum;
        let mut found = false;
        for (&measure, certain) in measures.iter().zip(&mut certain) {
            if !*certain && is_too_large(measure) {
                *certain = true;
                found = true;
            }
        }
        if !found {
            break (left, sum);
        }
    };
    let mut next = rng.unit();
    let takes = measures.iter().zip(certain).map(|(measure, certain)| {
        if certain {
            return Some(1.0);
        }
        let share = measure * left / sum;
        next -= share;
        (next < 0.0).then(|| {
            next += 1.0;
            share
        })
    });
    takes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The measures of what is taken, each divided by its probability, add up to the sum of all on
    /// average.
    #[test]
    fn what_is_taken_stands_for_all() {
        let measures = [1.0, 50.0, 2.0, 3.0, 0.5, 7.0, 7.0, 1.0];
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let mut rng = Rng::new(1);
        let rounds = 20_000;
        let mut sum = 0.0;
        for _ in 0..rounds {
            let taken = systematic_sample(&measures, 4, &mut rng);
            assert_eq!(taken[1], Some(1.0), "too large to be left out");
            let count = taken.iter().flatten().count();
            assert!((3..=5).contains(&count), "{count} of about 4");
            let of = |(value, share): (&f64, &Option<f64>)| share.map_or(0.0, |it| value / it);
            sum += values.iter().zip(&taken).map(of).sum::<f64>();
        }
        let mean = sum / f64::from(rounds);
        assert!((mean - 31.0).abs() < 0.5, "{mean} instead of 31");
    }
}
