//! Pearson's correlation.

/// Returns the arithmetic mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns Pearson's correlation; `None` if one of the variables does not vary. If one has two values only, this is
/// the point-biserial correlation.
pub(crate) fn pearson(one: &[f64], other: &[f64]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "one value of each for every case");
    if !varies(one) || !varies(other) {
        return None;
    }
    let (mean_one, mean_other) = (mean(one), mean(other));
    let (mut both, mut square_one, mut square_other) = (0.0, 0.0, 0.0);
    for (&x, &y) in one.iter().zip(other) {
        let (x, y) = (x - mean_one, y - mean_other);
        both += x * y;
        square_one += x * x;
        square_other += y * y;
    }
    Some((both / (square_one * square_other).sqrt()).clamp(-1.0, 1.0))
}

/// True when not all values are equal. Compared with each other and not by their variance, which rounding makes
/// positive.
pub(super) fn varies(values: &[f64]) -> bool {
    values.iter().any(|value| *value != values[0])
}

#[cfg(test)]
mod tests {
    use super::super::is_near;
    use super::*;

    /// F. J. Anscombe, "Graphs in Statistical Analysis", The American Statistician 27, 1973: four data sets with
    /// the same correlation, 0.816 (of which R squared is 0.67).
    #[test]
    fn anscombes_data_sets_have_the_same_correlation() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let fourth_x = [8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 19.0, 8.0, 8.0, 8.0];
        let sets = [
            (
                x,
                [
                    8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
                ],
            ),
            (
                x,
                [
                    9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74,
                ],
            ),
            (
                x,
                [
                    7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73,
                ],
            ),
            (
                fourth_x,
                [
                    6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89,
                ],
            ),
        ];
        for (x, y) in sets {
            let r = pearson(&x, &y).unwrap();
            assert!(is_near(r, 0.816, 0.001), "{r}");
        }
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        assert_eq!(pearson(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]), None);
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[0.7, 0.7, 0.7]), None);
        assert_eq!(pearson(&[1.0, 2.0], &[5.0, 3.0]), Some(-1.0));
        assert_eq!(pearson(&[], &[]), None);
    }
}
