//! Systematic sampling with unequal probabilities.

use crate::base::rng::Rng;

/// Selects about `width` elements, each with a probability of at most 1 that is proportional to its
/// measure. Returns the probability of each selected element, `None` for the others.
///
/// Neighbours are seldom selected together, so similar elements should be adjacent (systematic
/// sampling).
pub(crate) fn systematic_sample(measures: &[f64], width: usize, rng: &mut Rng) -> Vec<Option<f64>> {
    let mut certain = vec![false; measures.len()];
    // An element too large for its share is selected with certainty, which leaves fewer places for
    // the others.
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

    /// Checks that the values of the selected elements, each divided by its probability, sum to the
    /// total on average.
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
