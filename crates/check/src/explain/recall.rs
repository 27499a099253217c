//! Restores the explanation of a failure that an earlier run has found.

use std::panic::Location;
use std::sync::Arc;

use raddle_engine::strategy::{Dispatcher, Replay};
use raddle_engine::{Ending, Exploration, Schedule};
use raddle_report::{Failure, Minimised, RecordedExecution, Trace};

use crate::explain::fatal_report::FatalReport;
use crate::persist::learnt::{self, Applies, Learnt, SavedExecution};
use crate::runtime::deadline::Deadline;
use crate::runtime::watchdog;
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;

/// The program under test, and the settings of the check.
#[derive(Clone, Copy)]
pub(crate) struct Recall<'a> {
    pub(crate) checker: &'a Checker,
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) place: &'static Location<'static>,
    pub(crate) deadline: Deadline,
}

/// The end of a saved execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Success,
    Failure,
}

impl Recall<'_> {
    /// Adds the explanation to a failure that has occurred again, as far as it still applies. Executions that it
    /// refers to are run again; what depends on one that now ends otherwise is left out.
    pub(crate) fn explain(&self, failure: &mut Failure, learnt: &Learnt) {
        let settings = learnt::settings(self.checker);
        let applies = learnt.applies_to(failure, &settings);
        if applies == Applies::Not {
            return;
        }
        if applies == Applies::Whole {
            let hint = learnt.hint(failure).unwrap_or_default().to_owned();
            failure.message += &hint;
            let marks = learnt.marks.iter();
            let new = marks.filter(|mark| !failure.marks.contains(mark)).cloned();
            failure.marks.extend(new.collect::<Vec<_>>());
        }
        failure.notes.extend(learnt.note.clone());
        failure.minimised = learnt.minimised.map(|minimised| Minimised {
            is_minimal: minimised.is_minimal && applies == Applies::Whole,
            ..minimised
        });
        if let (Some(pair), Some(passing)) = (&learnt.critical, &learnt.passing)
            && let Some(passing) = self.run(passing, Expected::Success)
        {
            failure.critical = Some(pair.clone());
            failure.passing = Some(Box::new(passing));
        }
        if let Some(found) = &learnt.found {
            failure.found = self.run(found, Expected::Failure).map(Box::new);
        }
    }

    /// Runs an execution again; `None` if it does not end as it did.
    fn run(&self, saved: &SavedExecution, expected: Expected) -> Option<RecordedExecution> {
        let replay = Dispatcher::other(Replay::new(saved.schedule.clone()));
        let mut exploration = Exploration::new(replay, self.checker.limits());
        // As the search for the pair does.
        (exploration.world()).keep_accesses(expected == Expected::Success);
        let context = (self.checker).context(exploration, Arc::new(FatalReport::default()));
        let watch = watchdog::watch(&context, self.checker.watchdog, self.deadline);
        run_execution(&context, self.body, self.place);
        drop(watch);
        let trace = trace(&context, &saved.schedule, expected);
        context.clean_up();
        Some(RecordedExecution {
            trace: trace?,
            schedule: saved.schedule.to_string(),
            preemptions: saved.preemptions,
        })
    }
}

/// Returns the steps of the execution that has just stopped, if it followed the schedule and ended as expected.
fn trace(context: &Context, schedule: &Schedule, expected: Expected) -> Option<Trace> {
    let finding = context.with_exploration(|exploration| exploration.finish());
    let finding = finding.or_else(|| context.end_program());
    let is_complete = context.with_exploration(|it| *it.ending() == Ending::Complete);
    context.with_execution(|execution, _| {
        let steps = Schedule::of(execution).steps;
        match (finding, expected) {
            (None, Expected::Success) if is_complete && steps == schedule.steps => {
                Some(Trace::of(execution, context))
            }
            (Some(finding), Expected::Failure) if steps.starts_with(&schedule.steps) => {
                Some(Failure::new(&finding, execution, context).trace)
            }
            _ => None,
        }
    })
}
