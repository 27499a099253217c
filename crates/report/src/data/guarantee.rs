//! Guarantees of a finished check.

use std::fmt;

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
    /// Every combination of the paths that threads can take was run, and data races were looked for in each: every
    /// class, without the accesses of ignored locations. That their values decide nothing is the user's word, and was
    /// only checked in some executions.
    Paths,
    /// Every class was run in which threads leave loops without end once a round has repeated the one before, and data
    /// races were looked for in each. Nothing is known about later rounds, whose values may be others: their failures are
    /// not excluded, nor races in code that only they reach.
    Manners,
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

impl Guarantee {
    /// True when a check with this guarantee meets the requirement; see
    /// [`Checker::require`](https://docs.rs/raddle/latest/raddle/struct.Checker.html#method.require).
    ///
    /// `Exhaustive` meets every requirement. A bound meets itself and smaller bounds of its kind. `Reduced`, `Paths`,
    /// `Manners`, `Bounded` and `Delayed` meet `Sampled`, and none of them another. `Replayed` and `Directed` are no search, and meet
    /// themselves only.
    ///
    /// ```
    /// use raddle_report::Guarantee::{Bounded, Exhaustive, Sampled};
    ///
    /// assert!(Exhaustive.satisfies(Bounded { preemptions: 2 }));
    /// assert!(Bounded { preemptions: 3 }.satisfies(Bounded { preemptions: 2 }));
    /// assert!(!Sampled.satisfies(Bounded { preemptions: 0 }));
    /// ```
    pub fn satisfies(self, required: Guarantee) -> bool {
        use Guarantee::{Bounded, Delayed, Directed, Exhaustive, Replayed, Sampled};
        match (self, required) {
            (Exhaustive, _) => true,
            (Bounded { preemptions: most }, Bounded { preemptions }) => most >= preemptions,
            (Delayed { delays: most }, Delayed { delays }) => most >= delays,
            (Replayed | Directed, Sampled) => false,
            (_, Sampled) => true,
            _ => self == required,
        }
    }
}

/// The name of the guarantee in settings: `exhaustive`, `bounded:2`.
impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guarantee::Exhaustive => f.write_str("exhaustive"),
            Guarantee::Reduced => f.write_str("reduced"),
            Guarantee::Paths => f.write_str("paths"),
            Guarantee::Manners => f.write_str("manners"),
            Guarantee::Bounded { preemptions } => write!(f, "bounded:{preemptions}"),
            Guarantee::Delayed { delays } => write!(f, "delayed:{delays}"),
            Guarantee::Sampled => f.write_str("sampled"),
            Guarantee::Replayed => f.write_str("replayed"),
            Guarantee::Directed => f.write_str("directed"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::Guarantee::{
        self, Bounded, Delayed, Directed, Exhaustive, Paths, Reduced, Replayed, Sampled,
    };

    /// Every pair of a reached and a required guarantee; a row per reached one, a column per required one.
    #[test]
    fn a_requirement_is_met_by_what_implies_it() {
        let [b1, b2, b3] = [1, 2, 3].map(|preemptions| Bounded { preemptions });
        let [d1, d2, d3] = [1, 2, 3].map(|delays| Delayed { delays });
        let all: [Guarantee; 12] = [
            Exhaustive, Reduced, Paths, b1, b2, b3, d1, d2, d3, Sampled, Replayed, Directed,
        ];
        //   ex re pa b1 b2 b3 d1 d2 d3 sa re di
        let table = [
            "+  +  +  +  +  +  +  +  +  +  +  +", // exhaustive
            ".  +  .  .  .  .  .  .  .  +  .  .", // reduced
            ".  .  +  .  .  .  .  .  .  +  .  .", // paths
            ".  .  .  +  .  .  .  .  .  +  .  .", // bounded:1
            ".  .  .  +  +  .  .  .  .  +  .  .", // bounded:2
            ".  .  .  +  +  +  .  .  .  +  .  .", // bounded:3
            ".  .  .  .  .  .  +  .  .  +  .  .", // delayed:1
            ".  .  .  .  .  .  +  +  .  +  .  .", // delayed:2
            ".  .  .  .  .  .  +  +  +  +  .  .", // delayed:3
            ".  .  .  .  .  .  .  .  .  +  .  .", // sampled
            ".  .  .  .  .  .  .  .  .  .  +  .", // replayed
            ".  .  .  .  .  .  .  .  .  .  .  +", // directed
        ];
        for (reached, row) in all.into_iter().zip(table) {
            let cells: Vec<bool> = row.split_whitespace().map(|cell| cell == "+").collect();
            assert_eq!(cells.len(), all.len());
            for (required, cell) in all.into_iter().zip(cells) {
                assert_eq!(
                    reached.satisfies(required),
                    cell,
                    "{reached}, {required} required"
                );
            }
        }
    }
}
