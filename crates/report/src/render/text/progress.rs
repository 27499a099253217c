//! Parts of a report's summary: estimates, earlier runs, completeness and advice as text.

use std::fmt;

use crate::data::advice::{Advice, Prospect};
use crate::data::earlier::Earlier;
use crate::data::estimate::{Estimate, Unseen};
use crate::data::guarantee::Completeness;
use crate::words::number::{counted, grouped, percent, rounded};

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Completeness::Verified { schedules } => {
                let schedules = counted(*schedules, "schedule", "schedules");
                write!(f, "completeness verified: {schedules}, no other class")
            }
            Completeness::Unfinished { schedules, classes } => {
                let schedules = counted(*schedules, "schedule", "schedules");
                let classes = counted(*classes, "class", "classes");
                write!(
                    f,
                    "completeness not verified: there are more schedules than were run; {schedules} \
                     have {classes}, and no other than the search has run"
                )
            }
            Completeness::NotVerified { reason } => {
                write!(f, "completeness not verified: {reason}")
            }
        }
    }
}

/// The largest number of classes that is shown. Beyond it, samples differ by orders of magnitude.
const KNOWABLE: u64 = 1_000_000_000_000;

impl Estimate {
    /// True when there are not more classes than can be estimated.
    pub fn is_known(self) -> bool {
        self.high <= KNOWABLE
    }

    /// Returns the estimate as the clause after the number of classes that were run; nothing if more were
    /// run than estimated, so that the estimate is known to be wrong.
    pub fn of_all(self, run: u64) -> String {
        let Estimate {
            classes, low, high, ..
        } = self;
        if classes < run {
            return String::new();
        }
        if !self.is_known() {
            return " of more than can be estimated".to_owned();
        }
        match low == high {
            true => format!(" of {}", grouped(classes)),
            false => {
                let [classes, low, high] = [classes, low.max(run), high.max(run)];
                let [classes, low, high] = [classes, low, high].map(|it| grouped(rounded(it)));
                format!(" of about {classes} ({low} to {high})")
            }
        }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = percent(self.at_most);
        match self.share == 0.0 {
            true => write!(f, "less than {most} % of random runs are new"),
            false => {
                let share = percent(self.share);
                write!(
                    f,
                    "about {share} % of random runs are new (at most {most} %)"
                )
            }
        }
    }
}

impl fmt::Display for Earlier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = counted(self.runs, "earlier check", "earlier checks");
        let executions = counted(self.executions, "run", "runs");
        write!(
            f,
            "{} of them known from {runs} with {executions}",
            self.classes
        )
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
    use raddle_engine::Growth;

    use super::*;

    fn advice(found: u64, strategy: &str) -> String {
        let growth = [(512, 100), (1024, found)].map(|(runs, found)| Growth { runs, found });
        Advice::of(&growth, None, strategy).unwrap().to_string()
    }

    #[test]
    fn advice_follows_the_trend() {
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

    #[test]
    fn unseen_share_is_a_percentage() {
        let text = |share, at_most| Unseen { share, at_most }.to_string();
        assert_eq!(
            text(0.5, 0.61),
            "about 50 % of random runs are new (at most 61 %)"
        );
        assert_eq!(
            text(0.0123, 0.02),
            "about 1.2 % of random runs are new (at most 2.0 %)"
        );
        assert_eq!(
            text(0.0, 0.00003),
            "less than 0.0030 % of random runs are new"
        );
        assert_eq!(text(0.0, 1.0), "less than 100 % of random runs are new");
    }

    #[test]
    fn inexact_estimates_have_their_interval() {
        let of = |low, classes, high| {
            let samples = 10;
            Estimate {
                classes,
                low,
                high,
                samples,
            }
            .of_all(95)
        };
        assert_eq!(of(80, 100, 120), " of about 100 (95 to 120)");
        assert_eq!(of(97, 100, 120), " of about 100 (97 to 120)");
        assert_eq!(of(100, 100, 100), " of 100");
        assert_eq!(of(80, 94, 120), "", "more were run");
        assert_eq!(of(94, 94, 94), "", "more were run");
        let unknown = " of more than can be estimated";
        assert_eq!(of(u64::MAX, u64::MAX, u64::MAX), unknown);
        assert_eq!(of(100, 200, u64::MAX), unknown);
    }
}
