//! Checks that reach less than the guarantee that they require.

use raddle_engine::Schedule;

use crate::data::failure::{Failure, FailureKind};
use crate::data::guarantee::Guarantee;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::words::number::counted;

impl Report {
    /// Sets the required guarantee. Less is a failure, unless there is another one.
    pub fn require(&mut self, required: Guarantee) {
        self.required = Some(required);
        if self.failures.is_empty() && !self.guarantee.satisfies(required) {
            self.failures.push(self.below(required));
        }
    }

    fn below(&self, required: Guarantee) -> Failure {
        let classes = counted(self.classes, "class", "classes");
        let runs = counted(self.executions, "run", "runs");
        let message = format!(
            "`{required}` is required, and `{}` was reached: {classes} in {runs}\n{}",
            self.guarantee,
            self.help(required)
        );
        let (trace, schedule) = (Trace::default(), Schedule::default());
        Failure {
            search: self.search.strategy.clone(),
            ..Failure::bare(
                FailureKind::Requirement,
                message,
                trace,
                schedule,
                self.executions,
            )
        }
    }

    fn help(&self, required: Guarantee) -> String {
        let strategy = &*self.search.strategy;
        let is_systematic = matches!(strategy, "auto" | "exhaustive" | "enumerate")
            || strategy.starts_with("delay");
        let change = match required {
            Guarantee::Exhaustive if self.guarantee == Guarantee::Reduced => {
                "leave out `reduce`, which skips classes".to_owned()
            }
            _ if self.foreign_threads => {
                "start every thread with `raddle::thread::spawn`; the order of others is not explored"
                    .to_owned()
            }
            Guarantee::Reduced if is_systematic => {
                "give the search with `reduce` more time (`max_time`, `--budget`)".to_owned()
            }
            Guarantee::Delayed { delays } if strategy != "exhaustive" => {
                format!("use the strategy `delay:{delays}` with enough time (`max_time`, `--budget`)")
            }
            _ if !is_systematic => {
                format!("`{strategy}` promises no more; use the strategy `auto` or `exhaustive`")
            }
            Guarantee::Bounded { preemptions } => {
                format!(
                    "give the search more time (`max_time`, `--budget`), or bound it from the start \
                     with `preemptions = {preemptions}`"
                )
            }
            _ => "give the search more time (`max_time`, `--budget`) or workers, or make the test \
                  smaller"
                .to_owned(),
        };
        format!(
            "help: {change}; or require no more than `{}`",
            self.guarantee
        )
    }
}
