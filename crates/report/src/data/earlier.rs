//! Totals of earlier runs of a check.

use serde::Serialize;

/// Totals of earlier runs of a check, from the file of remembered runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Earlier {
    /// Number of runs.
    pub runs: u64,
    /// Number of executions.
    pub executions: u64,
    /// Number of classes.
    pub classes: u64,
    /// Number of covered requirements, of the metrics that were measured.
    pub requirements: u64,
    /// Cumulative executions, classes and requirements after each run, oldest first.
    pub growth: Vec<(u64, u64, u64)>,
}

impl Earlier {
    /// Builds the totals from the cumulative counts after each run, oldest first.
    pub fn new(
        classes: u64,
        requirements: u64,
        growth: impl IntoIterator<Item = (u64, u64, u64)>,
    ) -> Self {
        let growth: Vec<_> = growth.into_iter().collect();
        Earlier {
            runs: growth.len() as u64,
            executions: growth.last().map_or(0, |(executions, ..)| *executions),
            classes,
            requirements,
            growth,
        }
    }
}
