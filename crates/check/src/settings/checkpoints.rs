//! Intervals between the checkpoints of an exhaustive search.

use std::time::Duration;

/// Maximum distance between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Every {
    /// Zero turns checkpoints off.
    Time(Duration),
    Executions(u64),
}

impl Default for Every {
    fn default() -> Self {
        Every::Time(Duration::from_secs(10))
    }
}
