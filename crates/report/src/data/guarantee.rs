//! How much of a program's behaviour a check has covered.

use serde::Serialize;

/// What a finished check can promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Guarantee {
    /// Every class of executions was run.
    Exhaustive,
    /// Every class was run that the reductions asked for leave; others may behave differently.
    Reduced,
    /// Every class was run that can be run with at most so many preemptions; others may behave
    /// differently.
    Bounded {
        /// How many.
        preemptions: u32,
    },
    /// Every schedule with at most so many delays was run; others may behave differently.
    Delayed {
        /// How many.
        delays: u32,
    },
    /// Some classes were run; others may behave differently.
    Sampled,
    /// One given schedule was run.
    Replayed,
    /// One execution was run that does what a given future says, or there is none.
    Directed,
}

/// Whether the search itself was checked, by running every schedule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Completeness {
    /// All schedules were run, and have the classes that the search has run.
    Verified {
        /// How many schedules there are.
        schedules: u64,
    },
    /// Not all schedules were run. Those that were have no other class than the search has run.
    Unfinished {
        /// How many schedules were run.
        schedules: u64,
        /// How many classes they have.
        classes: u64,
    },
    /// No schedules were run.
    NotVerified {
        /// Why.
        reason: String,
    },
}

/// Why a test has only one behaviour: often because it uses what raddle does not see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Alone {
    /// It starts no thread, and uses nothing that raddle controls.
    Nothing,
    /// It starts no thread that raddle controls.
    Thread,
    /// Its threads do nothing that could happen in another order.
    Order,
}
