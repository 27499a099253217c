//! A check with a checkpoint: saves its search and resumes an interrupted one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::{CheckName, Schedule};
use raddle_report::Failure;

use crate::driver::known_schedules;
use crate::driver::phases::{Budget, sized_search};
use crate::driver::work_pool::EndReason;
use crate::driver::worker::{self, Worker};
use crate::driver::workers::Job;
use crate::explain::fatal_report::FatalReport;
use crate::explain::pages::Pages;
use crate::persist::checkpoint::{Part, Resumed, Saving};
use crate::persist::events;

/// The checkpoint of a search; empty if the search is not saved.
pub(crate) struct SavedSearch {
    saving: Option<Arc<Saving>>,
    resumed: bool,
    before: Duration,
}

impl SavedSearch {
    /// Returns a search without a checkpoint.
    pub(crate) fn unsaved() -> Self {
        SavedSearch {
            saving: None,
            resumed: false,
            before: Duration::ZERO,
        }
    }

    /// Resumes an interrupted search if the settings request it and there is one.
    #[track_caller]
    pub(crate) fn open(
        worker: &mut Worker<'_, '_>,
        job: Job<'_>,
        name: Option<&CheckName>,
        budget: &mut Budget,
    ) -> Self {
        let checker = job.checker;
        let mut saving = Saving::new(checker, name, Instant::now());
        let places = worker.context.places();
        let resumed = match &mut saving {
            Some(saving) if checker.resume => saving.load(&places),
            _ => None,
        };
        let mut search = SavedSearch {
            saving: saving.map(Arc::new),
            resumed: resumed.is_some(),
            before: Duration::ZERO,
        };
        let Some(Resumed { saved, items }) = resumed else {
            return search;
        };
        search.before = saved.elapsed;
        let done = saved.runs;
        budget.executions = budget.executions.saturating_add(done);
        budget.of_all = budget.of_all.saturating_add(done);
        worker.context.with_exploration(|exploration| {
            let mut search = sized_search(checker).idle().counting_from(saved.executions);
            search.reached(saved.reach);
            exploration.world().set_strategy(search);
            let tally = saved.tally();
            exploration.absorb(tally);
        });
        worker.take_over(items);
        worker.add_known(failures(job, &saved.failures));
        search
    }

    pub(crate) fn saving(&self) -> Option<&Arc<Saving>> {
        self.saving.as_ref()
    }

    /// Returns the time that earlier parts of the search took.
    pub(crate) fn before(&self) -> Duration {
        self.before
    }

    /// Saves the rest of a search that has stopped, or deletes the checkpoint if it is not needed.
    pub(crate) fn close(&self, worker: &mut Worker<'_, '_>, end: Option<EndReason>) {
        let Some(saving) = &self.saving else { return };
        let places = worker.context.places();
        let report = &worker.report;
        let part = worker.context.with_exploration(|exploration| {
            let counted = exploration.counted();
            let search = exploration.world().exhaustive()?;
            let (left, reach) = (search.left()?, search.reach());
            let items = left
                .iter()
                .map(|item| item.to_text(|site| places.to_text(site)));
            Some(Part {
                reach,
                items: items.collect(),
                ..worker::part(&counted, report)
            })
        });
        let is_interrupted = matches!(end, Some(EndReason::Budget | EndReason::Interrupted));
        match part.filter(|part| is_interrupted && !part.items.is_empty()) {
            None => saving.forget(self.resumed),
            Some(part) if saving.is_worth_it() => {
                let classes = part.executions;
                if saving.save(vec![part]) {
                    worker.report.resume = Some(saving.command());
                }
                if end == Some(EndReason::Interrupted) && !events::are_wanted() {
                    saving.end_process(classes);
                }
            }
            Some(_) => {}
        }
    }
}

/// Replays the failures that were found before the search was interrupted.
fn failures(job: Job<'_>, known: &[(u64, String)]) -> Vec<Failure> {
    let again = |(execution, token): &(u64, String)| {
        let schedule = token.parse::<Schedule>().ok()?;
        let fatal = FatalReport {
            search: "replay".to_owned(),
            check: schedule.check.clone(),
            note: None,
            saves: false,
            pages: Pages::default(),
        };
        let mut failure = known_schedules::replay(job, schedule, fatal)?;
        failure.execution = *execution;
        failure.search = "exhaustive".to_owned();
        Some(failure)
    };
    known.iter().filter_map(again).collect()
}
