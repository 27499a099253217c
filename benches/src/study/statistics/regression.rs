//! Linear regression by least squares: the part of one variable that others explain.
//!
//! Columns are made orthonormal one after the other (modified Gram-Schmidt, twice), so that a column that others
//! determine drops out instead of spoiling the result.

use super::correlation::{mean, pearson, varies};

/// Relative length below which a column counts as a combination of the ones before it.
const DEPENDENT: f64 = 1e-9;

/// Orthonormal columns that span some regressors and the constant.
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    columns: Vec<Vec<f64>>,
}

impl Controls {
    /// Takes regressors of one length; those that others determine are left out.
    pub(crate) fn new(cases: usize, regressors: &[&[f64]]) -> Self {
        let mut controls = Controls {
            columns: Vec::new(),
        };
        controls.add(&vec![1.0; cases]);
        for regressor in regressors {
            controls.add(regressor);
        }
        controls
    }

    fn add(&mut self, regressor: &[f64]) {
        let before = length(regressor);
        let mut rest = self.residuals(regressor);
        let after = length(&rest);
        if before > 0.0 && after > DEPENDENT * before {
            rest.iter_mut().for_each(|value| *value /= after);
            self.columns.push(rest);
        }
    }

    /// Returns the number of columns, the constant among them.
    fn rank(&self) -> usize {
        self.columns.len()
    }

    /// Returns what the columns do not explain.
    pub(crate) fn residuals(&self, variable: &[f64]) -> Vec<f64> {
        let mut rest = variable.to_vec();
        for _ in 0..2 {
            for column in &self.columns {
                let along: f64 = column
                    .iter()
                    .zip(&rest)
                    .map(|(one, other)| one * other)
                    .sum();
                for (value, part) in rest.iter_mut().zip(column) {
                    *value -= along * part;
                }
            }
        }
        rest
    }

    /// Returns the partial correlation: that of two variables while the columns are held fixed. `None` if the
    /// columns explain one of them completely.
    pub(crate) fn partial_correlation(&self, one: &[f64], other: &[f64]) -> Option<f64> {
        pearson(&self.unexplained(one)?, &self.unexplained(other)?)
    }

    /// Returns the residuals; `None` if there are none but rounding.
    pub(crate) fn unexplained(&self, variable: &[f64]) -> Option<Vec<f64>> {
        let rest = self.residuals(variable);
        let is_explained = !varies(variable) || length(&rest) <= DEPENDENT * length(variable);
        (!is_explained).then_some(rest)
    }
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Returns the adjusted R squared of the linear model of these regressors and a constant; `None` if the dependent
/// variable does not vary or there are too few cases.
pub(crate) fn adjusted_r2(dependent: &[f64], regressors: &[&[f64]]) -> Option<f64> {
    if !varies(dependent) {
        return None;
    }
    let controls = Controls::new(dependent.len(), regressors);
    let freedom = dependent.len().checked_sub(controls.rank())?;
    if freedom == 0 {
        return None;
    }
    let middle = mean(dependent);
    let total: f64 = dependent.iter().map(|value| (value - middle).powi(2)).sum();
    let rest = length(&controls.residuals(dependent)).powi(2);
    Some(1.0 - rest / freedom as f64 / (total / (dependent.len() - 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::super::is_near;
    use super::*;

    /// The first set of Anscombe (1973), as R's documentation of `lm` prints it: adjusted R squared 0.6295.
    #[test]
    fn one_regressor_explains_anscombes_first_set_as_published() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [
            8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68,
        ];
        let r2 = adjusted_r2(&y, &[&x]).unwrap();
        assert!(is_near(r2, 0.6295, 0.00005), "{r2}");
    }

    /// K. A. Brownlee, "Statistical Theory and Methodology in Science and Engineering", 1965: loss of a plant in
    /// 21 days. R's documentation of `stackloss` fits it: adjusted R squared 0.8983.
    #[test]
    fn three_regressors_explain_brownlees_stack_loss_as_published() {
        let air = [
            80.0, 80.0, 75.0, 62.0, 62.0, 62.0, 62.0, 62.0, 58.0, 58.0, 58.0, 58.0, 58.0, 58.0,
            50.0, 50.0, 50.0, 50.0, 50.0, 56.0, 70.0,
        ];
        let water = [
            27.0, 27.0, 25.0, 24.0, 22.0, 23.0, 24.0, 24.0, 23.0, 18.0, 18.0, 17.0, 18.0, 19.0,
            18.0, 18.0, 19.0, 19.0, 20.0, 20.0, 20.0,
        ];
        let acid = [
            89.0, 88.0, 90.0, 87.0, 87.0, 87.0, 93.0, 93.0, 87.0, 80.0, 89.0, 88.0, 82.0, 93.0,
            89.0, 86.0, 72.0, 79.0, 80.0, 82.0, 91.0,
        ];
        let loss = [
            42.0, 37.0, 37.0, 28.0, 18.0, 18.0, 19.0, 20.0, 15.0, 14.0, 14.0, 13.0, 11.0, 12.0,
            8.0, 7.0, 8.0, 8.0, 9.0, 15.0, 15.0,
        ];
        let r2 = adjusted_r2(&loss, &[&air, &water, &acid]).unwrap();
        assert!(is_near(r2, 0.8983, 0.00005), "{r2}");
        let twice: Vec<f64> = air.iter().map(|value| 2.0 * value).collect();
        let again = adjusted_r2(&loss, &[&air, &twice, &water, &acid]).unwrap();
        assert!(
            is_near(again, r2, 1e-9),
            "a regressor twice explains no more"
        );
    }

    /// The example of the article "Partial correlation" of Wikipedia: 0.970, and 0.919 with Z held fixed.
    #[test]
    fn a_partial_correlation_is_as_published() {
        let (x, y, z) = (
            [2.0, 4.0, 15.0, 20.0],
            [1.0, 2.0, 3.0, 4.0],
            [0.0, 0.0, 1.0, 1.0],
        );
        assert!(is_near(pearson(&x, &y).unwrap(), 0.970, 0.0005));
        let partial = Controls::new(4, &[&z]).partial_correlation(&x, &y);
        assert!(is_near(partial.unwrap(), 0.919, 0.0005), "{partial:?}");
    }

    #[test]
    fn what_is_explained_has_no_partial_correlation() {
        let x = [1.0, 2.0, 3.0, 5.0];
        let twice = [2.0, 4.0, 6.0, 10.0];
        let controls = Controls::new(4, &[&x]);
        assert_eq!(
            controls.partial_correlation(&twice, &[1.0, 0.0, 1.0, 1.0]),
            None
        );
        assert_eq!(adjusted_r2(&[1.0; 4], &[&x]), None);
        assert_eq!(
            adjusted_r2(&[1.0, 2.0], &[&[3.0, 4.0]]),
            None,
            "as many columns as cases"
        );
    }
}
