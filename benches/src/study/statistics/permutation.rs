//! The paired permutation test: under the hypothesis, each difference is as likely with the other sign.

use crate::study::random::Random;

/// Number of pairs up to which all signs are enumerated.
const ENUMERATED: usize = 20;
/// Relative difference below which two sums are equal: sums in another order round differently.
const EQUAL: f64 = 1e-12;

/// Returns the two-sided p-value of the mean difference: from all signs if there are few pairs, else from that many
/// random ones. `None` without a difference other than zero.
pub(crate) fn sign_flips(differences: &[f64], draws: u32, seed: u64) -> Option<f64> {
    let differences: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|it| *it != 0.0)
        .collect();
    if differences.is_empty() {
        return None;
    }
    let observed = differences.iter().sum::<f64>().abs();
    let scale: f64 = differences.iter().map(|it| it.abs()).sum();
    let is_extreme = |sum: f64| sum.abs() >= observed - EQUAL * scale;
    if differences.len() <= ENUMERATED {
        let all = 1_u32 << differences.len();
        let sum = |signs: u32| -> f64 {
            let signed = differences.iter().enumerate();
            signed
                .map(|(index, it)| if signs >> index & 1 == 1 { -it } else { *it })
                .sum()
        };
        let extreme = (0..all).filter(|&signs| is_extreme(sum(signs))).count();
        return Some(extreme as f64 / f64::from(all));
    }
    let mut random = Random::new(seed);
    let extreme = (0..draws)
        .filter(|_| {
            let mut bits = 0;
            let mut sum = 0.0;
            for (index, difference) in differences.iter().enumerate() {
                if index % 64 == 0 {
                    bits = random.next();
                }
                sum += if bits & 1 == 1 {
                    -difference
                } else {
                    *difference
                };
                bits >>= 1;
            }
            is_extreme(sum)
        })
        .count();
    // The observed signs are one of the draws, so that no p-value is zero.
    Some((extreme + 1) as f64 / (f64::from(draws) + 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::is_near;
    use super::*;

    /// Differences of Darwin's 15 pairs of Zea mays, in eighths of an inch. R. A. Fisher, "The Design of
    /// Experiments", 1935, section 21: 1,726 of 32,768 sums are as large, 5.267 per cent.
    const DARWIN: [f64; 15] = [
        49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0,
    ];

    #[test]
    fn darwins_plants_are_as_fisher_counted() {
        let p = sign_flips(&DARWIN, 0, 0).unwrap();
        assert_eq!(p, 1_726.0 / 32_768.0);
    }

    /// The same with pairs that make the enumeration too large and are too small to matter.
    #[test]
    fn random_signs_estimate_the_same() {
        let many: Vec<f64> = DARWIN.into_iter().chain([1e-15; 10]).collect();
        let p = sign_flips(&many, 100_000, 7).unwrap();
        assert!(is_near(p, 0.05267, 4.0 * 0.0007), "{p}");
        assert_eq!(sign_flips(&many, 1_000, 1), sign_flips(&many, 1_000, 1));
        assert_eq!(sign_flips(&[0.0; 30], 1_000, 1), None);
        let clear = sign_flips(&[1.0; 100], 999, 1).unwrap();
        assert!(is_near(clear, 0.001, 1e-12), "{clear}");
    }
}
