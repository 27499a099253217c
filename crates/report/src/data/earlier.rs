//! What earlier runs of a check have done.

use serde::Serialize;

/// What earlier runs of a check have done, if it remembers them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Earlier {
    /// How many runs there were.
    pub runs: u64,
    /// How many executions they have run.
    pub executions: u64,
    /// How many classes.
    pub classes: u64,
    /// How many requirements they covered, of those that were measured.
    pub requirements: u64,
    /// After each run, from the oldest on: executions, classes and requirements of it and all before.
    pub growth: Vec<(u64, u64, u64)>,
}

impl Earlier {
    /// Runs that have come so far, with how far each of them had come.
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
