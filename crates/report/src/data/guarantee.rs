//! Guarantees of a finished check.

use serde::Serialize;

/// Part of a program's behaviour that a finished check has covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Guarantee {
    /// Every class of executions was run.
    Exhaustive,
    /// Every class that remains under the requested reductions was run; others may behave
    /// differently.
    Reduced,
    /// Every class within the bound on preemptions was run; others may behave differently.
    Bounded {
        /// Maximum number of preemptions.
        preemptions: u32,
    },
    /// Every schedule within the bound on delays was run; others may behave differently.
    Delayed {
        /// Maximum number of delays.
        delays: u32,
    },
    /// Some classes were run; others may behave differently.
    Sampled,
    /// One given schedule was run.
    Replayed,
    /// One execution with the requested alternative was run, or none exists.
    Directed,
}

/// Result of comparing the search with plain enumeration of all schedules.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Completeness {
    /// All schedules were run, and have exactly the classes that the search has run.
    Verified {
        /// Number of schedules.
        schedules: u64,
    },
    /// Enumeration stopped early; so far it has found no class that the search has not run.
    Unfinished {
        /// Number of schedules that were run.
        schedules: u64,
        /// Number of their classes.
        classes: u64,
    },
    /// No schedule was enumerated.
    NotVerified {
        /// Reason for that.
        reason: String,
    },
}

/// Reason why a test has only one class. Often the test uses types that raddle does not control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Alone {
    /// The test creates no thread and uses no controlled type.
    Nothing,
    /// The test creates no controlled thread.
    Thread,
    /// No two operations of its threads depend on each other's order.
    Order,
}
