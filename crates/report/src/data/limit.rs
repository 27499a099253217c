//! The limit that ended a search.

use std::time::Duration;

use serde::Serialize;

/// The limit that ended a search before it had run every class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum SearchLimit {
    /// The number of runs.
    #[non_exhaustive]
    Runs {
        /// Maximum number of runs.
        limit: u64,
        /// True when no limit was set.
        is_default: bool,
        /// The setting that raises it.
        setting: String,
    },
    /// The time.
    #[non_exhaustive]
    Time {
        /// Maximum time.
        limit: Duration,
        /// True when no limit was set.
        is_default: bool,
        /// The setting that raises it.
        setting: String,
    },
    /// None: the last runs covered nothing new.
    #[non_exhaustive]
    Saturated {
        /// Number of the last runs that found no class and covered no requirement that was new.
        runs: u64,
    },
    /// The memory for the branches that an exhaustive search has not run yet.
    Branches,
    /// The user has stopped the check.
    Interrupted,
}

impl SearchLimit {
    /// A limit of the number of runs.
    pub fn runs(limit: u64, is_default: bool, setting: impl Into<String>) -> Self {
        SearchLimit::Runs {
            limit,
            is_default,
            setting: setting.into(),
        }
    }

    /// The end of a check whose last runs covered nothing new.
    pub fn saturated(runs: u64) -> Self {
        SearchLimit::Saturated { runs }
    }

    /// A limit of the time.
    pub fn time(limit: Duration, is_default: bool, setting: impl Into<String>) -> Self {
        SearchLimit::Time {
            limit,
            is_default,
            setting: setting.into(),
        }
    }
}
