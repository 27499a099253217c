//! How much there is that a check has not run.

use serde::Serialize;

/// How many classes there are, as far as samples tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// About so many.
    pub classes: u64,
    /// With a confidence of 95 %, so many at least,
    pub low: u64,
    /// and so many at most.
    pub high: u64,
    /// How many runs of the program it is based on, besides the executions that were counted.
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

/// How likely a random execution is one that the check has not run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Unseen {
    /// About so likely, from 0 to 1.
    pub share: f64,
    /// With a confidence of 95 %, at most so likely.
    pub at_most: f64,
}

impl From<raddle_engine::Unseen> for Unseen {
    fn from(unseen: raddle_engine::Unseen) -> Self {
        let raddle_engine::Unseen { share, at_most } = unseen;
        Unseen { share, at_most }
    }
}
