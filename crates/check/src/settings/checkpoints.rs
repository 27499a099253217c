//! When an exhaustive search is saved, and where.

use std::path::PathBuf;
use std::time::Duration;

/// So long between two checkpoints, unless something else is asked for.
pub(crate) const EVERY: Duration = Duration::from_secs(10);

/// When a search is saved, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoints {
    /// If not beside the schedules of the test.
    pub(crate) path: Option<PathBuf>,
    pub(crate) every: Every,
    /// Whether to go on with what was saved.
    pub(crate) resume: bool,
}

/// How much lies between two checkpoints at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Every {
    /// No time at all is no checkpoints.
    Time(Duration),
    Executions(u64),
}

impl Default for Checkpoints {
    fn default() -> Self {
        Checkpoints {
            path: None,
            every: Every::Time(EVERY),
            resume: false,
        }
    }
}
