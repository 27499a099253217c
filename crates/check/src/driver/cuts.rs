//! Executions that are cut, because the time of the check is over or they have too many events.

use raddle_engine::check::{Finding, limit};
use raddle_engine::{CutCounts, Ending, Execution};
use raddle_report::{Failure, FailureKind, grouped};

use crate::driver::worker::Worker;

impl Worker<'_, '_> {
    /// True when the execution that has just stopped was cut because its time was over.
    pub(super) fn is_cut(&self) -> bool {
        (self.context).with_exploration(|e| matches!(e.ending(), Ending::OutOfTime))
    }

    /// Adds a warning with the position of every thread in the execution that has just been cut.
    #[cold]
    pub(super) fn report_cut(&mut self, name: &'static str) {
        let limit = self.deadline.limit();
        let warning = self.named_failure(&Finding::OutOfTime { limit }, name);
        self.report.warnings.push(warning);
    }

    /// Adds a failure of its own kind if nothing was found and every execution was cut: nothing is known
    /// about the program then.
    pub(crate) fn require_completed(&mut self) {
        let (all, cuts) = (self.context).with_exploration(|e| (e.executions(), e.cuts()));
        let CutCounts {
            too_long,
            out_of_time,
            ..
        } = cuts;
        let cut = too_long + out_of_time;
        let is_replay = self.checker.replays() && out_of_time == 0;
        if !self.report.failures.is_empty() || cut == 0 || cut < all || is_replay {
            return;
        }
        let is_late = |warning: &Failure| warning.kind == FailureKind::TooLong;
        if let Some(index) = self.report.warnings.iter().position(is_late) {
            let mut failure = self.report.warnings.remove(index);
            failure.notes.push(
                "no execution was completed, so the check has neither passed nor failed".to_owned(),
            );
            self.report.failures.push(failure);
            return;
        }
        let repeated = |execution: &Execution, _| limit::repeated(execution);
        let finding = Finding::TooManyEvents {
            limit: self.checker.limits().max_events,
            repeated: self.context.with_execution(repeated),
        };
        let mut failure = self.named_failure(&finding, "every execution");
        failure.notes.push(format!(
            "no execution was completed, so the check has neither passed nor failed; cut at the limit of \
             events: {}",
            grouped(too_long)
        ));
        self.report.failures.push(failure);
    }
}
