//! Whether a longer check would find more, and what to try if not.

use raddle_engine::Growth;
use serde::Serialize;

/// How many classes a check had run after some executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct ClassGrowth {
    /// So many executions, those included that count nowhere because their class was known.
    pub runs: u64,
    /// So many classes.
    pub classes: u64,
}

impl From<Growth> for ClassGrowth {
    fn from(Growth { runs, found }: Growth) -> Self {
        ClassGrowth {
            runs,
            classes: found,
        }
    }
}

/// Where the number of classes is going, at the end of a check that has not run them all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Prospect {
    /// At least one in twenty of the last executions was of a new class.
    Growing,
    /// Fewer were.
    Slowing,
    /// Fewer than one in a hundred was.
    Saturated,
}

/// What the last executions of a check say about the next ones. `Display` writes what to do, if there
/// is something to say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// So many executions were the last: about half of them all, or somewhat more.
    pub recent: u64,
    /// How many of them were of a new class.
    pub new_classes: u64,
    /// How many requirements they were the first to cover, if that was measured.
    pub new_requirements: Option<u64>,
    /// Where that goes.
    pub prospect: Prospect,
    /// What to try instead.
    pub instead: Option<String>,
}
