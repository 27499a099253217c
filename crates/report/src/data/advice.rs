//! Trend of the number of classes at the end of a check.

use raddle_engine::Growth;
use serde::Serialize;

/// A point on the curve of classes over executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct ClassGrowth {
    /// Number of executions, including those that no other count has because their class was known.
    pub runs: u64,
    /// Number of classes they have.
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

/// Trend of the number of classes, at the end of a check that has not run them all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Prospect {
    /// At least 5 % of the last executions had a new class.
    Growing,
    /// Between 1 % and 5 % of the last executions had a new class.
    Slowing,
    /// Less than 1 % of the last executions had a new class.
    Saturated,
}

/// Forecast of the benefit of further executions. `Display` writes the recommendation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// Number of last executions that the forecast is based on: half of them all, or slightly more.
    pub recent: u64,
    /// Number of new classes among them.
    pub new_classes: u64,
    /// Number of requirements that they covered first; `None` if coverage was not measured.
    pub new_requirements: Option<u64>,
    /// Trend of the number of classes.
    pub prospect: Prospect,
    /// Setting to try instead, when the number of classes is saturated.
    pub instead: Option<String>,
}
