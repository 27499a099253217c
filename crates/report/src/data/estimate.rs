//! How much there is that a check has not run.

use std::fmt;

use serde::Serialize;

use crate::words::number::{grouped, rounded};

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

impl Estimate {
    /// What follows the number of classes that were run.
    pub(crate) fn of_all(self) -> String {
        let Estimate {
            classes, low, high, ..
        } = self;
        match low == high {
            true => format!(" of {classes}"),
            false => {
                let [classes, low, high] = [classes, low, high].map(|it| grouped(rounded(it)));
                format!(" of about {classes} ({low} to {high})")
            }
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

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = percent(self.at_most);
        match self.share == 0.0 {
            true => write!(f, "less than {most} % of random runs are new"),
            false => {
                let share = percent(self.share);
                write!(
                    f,
                    "about {share} % of random runs are new (at most {most} %)"
                )
            }
        }
    }
}

/// In percent, with two digits that mean something.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = match percent >= 9.95 {
        true => 0,
        false => 1 + (-percent.max(1e-9).log10().floor()).max(0.0) as usize,
    };
    format!("{percent:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unseen_is_told_in_percent() {
        let told = |share, at_most| Unseen { share, at_most }.to_string();
        assert_eq!(
            told(0.5, 0.61),
            "about 50 % of random runs are new (at most 61 %)"
        );
        assert_eq!(
            told(0.0123, 0.02),
            "about 1.2 % of random runs are new (at most 2.0 %)"
        );
        assert_eq!(
            told(0.0, 0.00003),
            "less than 0.0030 % of random runs are new"
        );
        assert_eq!(told(0.0, 1.0), "less than 100 % of random runs are new");
    }

    #[test]
    fn an_estimate_has_its_interval_unless_it_is_exact() {
        let of = |low, classes, high| {
            let samples = 10;
            Estimate {
                classes,
                low,
                high,
                samples,
            }
            .of_all()
        };
        assert_eq!(of(90, 100, 120), " of about 100 (90 to 120)");
        assert_eq!(of(100, 100, 100), " of 100");
    }
}
