//! Forecast for a longer check, and the setting to try instead.

use raddle_engine::{Growth, Outlook, Trend};

use crate::data::advice::{Advice, Prospect};
use crate::data::guarantee::Guarantee;
use crate::data::report::Report;

impl Report {
    /// Sets the growth of the number of classes, and derives the advice. Must be called last,
    /// because the advice depends on the guarantee, the failures and the coverage.
    pub fn set_growth(&mut self, growth: &[Growth]) {
        self.growth = growth.iter().copied().map(Into::into).collect();
        if self.guarantee != Guarantee::Sampled || !self.failures.is_empty() {
            return;
        }
        let covered = self.coverage().growth.iter().map(|point| Growth {
            runs: point.executions,
            found: point.requirements,
        });
        let covered: Vec<Growth> = covered.collect();
        let covered = self.coverage().is_measured().then_some(&covered[..]);
        self.advice = Advice::of(growth, covered, &self.search.strategy);
    }
}

impl Advice {
    /// Derives the advice from the growth curves of a check with this strategy; `None` if they are
    /// too short.
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
