//! Replays of schedules that failed in earlier runs, before the search.

use std::panic::Location;

use raddle_engine::{CheckName, Schedule};
use raddle_report::{Failure, FailureKind, Report};

use crate::driver::run;
use crate::explain::fatal_report::FatalReport;
use crate::explain::pages::{self, Pages};
use crate::persist::history::History;
use crate::persist::known_schedules::{self, KnownSchedule, Origin};
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// Runs the schedules that failed in earlier runs and returns those that fail again.
pub(crate) fn run(
    checker: &Checker,
    name: &CheckName,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    history: Option<&History>,
) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut all = match checker.known_schedules {
        true => known_schedules::find(name),
        false => Vec::new(),
    };
    for schedule in history.into_iter().flat_map(History::failures) {
        if all.iter().all(|known| known.schedule != schedule) {
            all.push(KnownSchedule {
                schedule,
                file: history
                    .map(|history| history.path().to_owned())
                    .unwrap_or_default(),
                origin: Origin::Remembered,
            });
        }
    }
    for (index, known) in all.into_iter().enumerate() {
        let found_again = known.found_again();
        let fatal = FatalReport {
            search: known.origin.name().to_owned(),
            check: Some(name.clone()),
            note: Some(found_again.clone()),
            saves: true,
            pages: Pages::of(checker),
        };
        let schedule = known.schedule.clone();
        let mut failure = match replay(checker, schedule, fatal, body, place) {
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
        failure.execution = index as u64 + 1;
        failure.search = known.origin.name().to_owned();
        failure.notes.insert(0, found_again);
        failures.push(failure);
        if !checker.keep_going {
            break;
        }
    }
    failures
}

/// Replays a schedule and returns its failures.
pub(crate) fn replay(
    checker: &Checker,
    schedule: Schedule,
    fatal: FatalReport,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
) -> Option<Failure> {
    let report = run_again(checker, schedule, fatal, body, place);
    report.failures.into_iter().next()
}

/// Replays a schedule and returns its whole report.
pub(crate) fn run_again(
    checker: &Checker,
    schedule: Schedule,
    fatal: FatalReport,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
) -> Report {
    let replay = Checker {
        strategy: Strategy::Replay(schedule),
        max_executions: None,
        max_time: None,
        keep_going: false,
        ..checker.clone()
    };
    run::run_reporting(&replay, None, fatal, body, place, None)
}
