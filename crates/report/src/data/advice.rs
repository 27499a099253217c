//! Whether a longer check would find more, and what to try if not.

use std::fmt;

use raddle_engine::{Growth, Outlook, Trend};
use serde::Serialize;

use crate::render::text::story::counted;

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

impl Advice {
    /// Reads the curves of a check with this strategy; `None` if they are too short.
    pub(crate) fn of(
        classes: &[Growth],
        requirements: Option<&[Growth]>,
        strategy: &str,
    ) -> Option<Self> {
        let Outlook { recent, new, trend } = Outlook::of(classes)?;
        let prospect = match trend {
            Trend::Growing => Prospect::Growing,
            Trend::Slowing => Prospect::Slowing,
            Trend::Saturated => Prospect::Saturated,
        };
        let instead = match strategy {
            "auto" => "a bound such as `preemptions(2)`, or `exhaustive` with more time",
            guided if guided.starts_with("coverage") => "the strategy `auto`",
            _ => "the strategy `auto`, or `coverage`",
        };
        Some(Advice {
            recent,
            new_classes: new,
            new_requirements: requirements.and_then(Outlook::of).map(|it| it.new),
            prospect,
            instead: (prospect == Prospect::Saturated).then(|| instead.to_owned()),
        })
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (were, new) = match self.new_classes {
            0 => ("was", "none".to_owned()),
            1 => ("was", "1".to_owned()),
            new => ("were", new.to_string()),
        };
        write!(
            f,
            "{new} of the last {} runs {were} of a new class",
            self.recent
        )?;
        if let Some(requirements) = self.new_requirements {
            let more = counted(requirements, "new requirement", "new requirements");
            write!(f, ", and they covered {more}")?;
        }
        match (self.prospect, &self.instead) {
            (Prospect::Growing, _) => write!(f, ": a longer check would find more"),
            (Prospect::Slowing, _) => write!(f, ": a much longer check would find some more"),
            (Prospect::Saturated, Some(instead)) => {
                write!(f, ": more of the same would find little; try {instead}")
            }
            (Prospect::Saturated, None) => write!(f, ": more of the same would find little"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(found: u64, strategy: &str) -> String {
        let growth = [(512, 100), (1024, found)].map(|(runs, found)| Growth { runs, found });
        Advice::of(&growth, None, strategy).unwrap().to_string()
    }

    #[test]
    fn what_is_said() {
        assert_eq!(
            advice(126, "auto"),
            "26 of the last 512 runs were of a new class: a longer check would find more"
        );
        assert_eq!(
            advice(106, "auto"),
            "6 of the last 512 runs were of a new class: a much longer check would find some more"
        );
        assert_eq!(
            advice(101, "auto"),
            "1 of the last 512 runs was of a new class: more of the same would find little; try a \
             bound such as `preemptions(2)`, or `exhaustive` with more time"
        );
        assert_eq!(
            advice(100, "random"),
            "none of the last 512 runs was of a new class: more of the same would find little; try \
             the strategy `auto`, or `coverage`"
        );
        let growth = [(512, 3), (1024, 7)].map(|(runs, found)| Growth { runs, found });
        let both = Advice::of(&growth, Some(&growth), "coverage:pset").unwrap();
        assert_eq!(
            both.to_string(),
            "4 of the last 512 runs were of a new class, and they covered 4 new requirements: more \
             of the same would find little; try the strategy `auto`"
        );
    }
}
