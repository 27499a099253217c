//! Estimates of the part of a program's behaviour that a check has not run.

use serde::Serialize;

/// Estimated number of classes, from samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Point estimate.
    pub classes: u64,
    /// Lower end of the 95 % confidence interval.
    pub low: u64,
    /// Upper end of the 95 % confidence interval.
    pub high: u64,
    /// Number of sampling runs of the program, not counted as executions.
    pub samples: u64,
}

impl From<raddle_engine::Estimate> for Estimate {
    fn from(estimate: raddle_engine::Estimate) -> Self {
        let raddle_engine::Estimate {
            classes,
            low,
            high,
            samples,
            ..
        } = estimate;
        Estimate {
            classes,
            low,
            high,
            samples,
        }
    }
}

/// Probability that a random execution has a class that the check has not run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Unseen {
    /// Point estimate, from 0 to 1.
    pub share: f64,
    /// Upper end of the 95 % confidence interval.
    pub at_most: f64,
}

impl From<raddle_engine::Unseen> for Unseen {
    fn from(unseen: raddle_engine::Unseen) -> Self {
        let raddle_engine::Unseen { share, at_most } = unseen;
        Unseen { share, at_most }
    }
}
