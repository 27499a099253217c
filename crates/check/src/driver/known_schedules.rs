//! Replays of schedules that failed in earlier runs, before the search.

use std::time::Instant;

use raddle_engine::{CheckName, Schedule};
use raddle_report::{Failure, FailureKind, Report};

use crate::driver::phases::max_runs;
use crate::driver::run;
use crate::driver::workers::Job;
use crate::explain::fatal_report::FatalReport;
use crate::explain::pages::{self, Pages};
use crate::explain::recall::Recall;
use crate::persist::history::History;
use crate::persist::known_schedules::{self, KnownSchedule, Origin};
use crate::settings::checker::{Checker, WholeCheck};
use crate::settings::options::Strategy;

/// The replays before a search.
#[derive(Default)]
pub(crate) struct Replayed {
    /// Failures that have recurred.
    pub(crate) failures: Vec<Failure>,
    pub(crate) runs: u64,
}

/// Runs the schedules that failed in earlier runs and returns those that fail again.
pub(crate) fn run(job: Job<'_>, name: &CheckName, history: Option<&History>) -> Replayed {
    let checker = job.checker;
    let mut runs = 0;
    let mut failures: Vec<Failure> = Vec::new();
    let mut all = match checker.known_schedules {
        true => known_schedules::find(name),
        false => Vec::new(),
    };
    for (schedule, learnt) in history.into_iter().flat_map(History::failures) {
        if all.iter().all(|known| known.schedule != schedule) {
            all.push(KnownSchedule {
                schedule,
                learnt,
                file: history
                    .map(|history| history.path().to_owned())
                    .unwrap_or_default(),
                origin: Origin::Remembered,
            });
        }
    }
    for known in all {
        // A schedule that was not replayed stays.
        if job.deadline.is_past() || runs >= max_runs(checker) {
            break;
        }
        runs += 1;
        let found_again = known.found_again();
        let fatal = FatalReport {
            search: known.origin.name().to_owned(),
            check: Some(name.clone()),
            note: Some(found_again.clone()),
            saves: true,
            pages: Pages::of(checker),
        };
        let schedule = known.schedule.clone();
        let mut failure = match replay(job, schedule, fatal) {
            // The replay was cut.
            Some(failure) if failure.kind == FailureKind::TooLong && job.deadline.is_past() => {
                break;
            }
            Some(failure) if failure.kind != FailureKind::ScheduleMismatch => failure,
            none => {
                if known.origin == Origin::Saved {
                    pages::remove(name);
                }
                known.retire(name, none.as_ref().map(|failure| failure.message.as_str()));
                history.inspect(|history| history.forget(&known.schedule));
                continue;
            }
        };
        failure.execution = runs;
        // As in the first run, where only the steps are recorded.
        failure.trace.accesses.clear();
        failure.search = known.origin.name().to_owned();
        failure.notes.insert(0, found_again);
        if let Some(learnt) = &known.learnt {
            let recall = Recall {
                checker,
                body: job.body,
                place: job.place,
                deadline: job.deadline.of_explanation(Instant::now()),
            };
            recall.explain(&mut failure, learnt);
        }
        failures.push(failure);
        if !checker.keep_going {
            break;
        }
    }
    Replayed { failures, runs }
}

/// Replays a schedule and returns its failures.
pub(crate) fn replay(job: Job<'_>, schedule: Schedule, fatal: FatalReport) -> Option<Failure> {
    let report = run_again(job, schedule, fatal);
    report.failures.into_iter().next()
}

/// Replays a schedule and returns its whole report. The replay ends with the check it is a part of; what
/// failed is explained later, within the same time.
pub(crate) fn run_again(job: Job<'_>, schedule: Schedule, fatal: FatalReport) -> Report {
    let deadline = job.deadline.of_explanation(Instant::now());
    let replay = Checker {
        strategy: Strategy::Replay(schedule),
        max_executions: None,
        max_time: None,
        keep_going: false,
        part_of: Some(WholeCheck {
            start: Instant::now(),
            runs: 0,
            deadline: Some(deadline),
        }),
        ..job.checker.clone()
    };
    run::run_reporting(&replay, None, fatal, job.body, job.place, None)
}

/// Replays a schedule that another process has found and returns its failures and warnings.
pub(crate) fn found_again(job: Job<'_>, token: &str) -> (Vec<Failure>, Vec<Failure>) {
    let Ok(schedule) = token.parse::<Schedule>() else {
        return Default::default();
    };
    let fatal = FatalReport {
        search: job.fatal.search.clone(),
        check: schedule.check.clone(),
        note: None,
        saves: false,
        pages: Pages::default(),
    };
    let Report {
        mut failures,
        warnings,
        ..
    } = run_again(job, schedule, fatal);
    for failure in &mut failures {
        failure.search = job.fatal.search.clone();
    }
    (failures, warnings)
}
