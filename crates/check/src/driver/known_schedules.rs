//! Schedules that have failed before, which run before the search: those kept with the package's
//! sources as regression tests, and the one that the last failure saved.

use std::panic::Location;
use std::path::{Path, PathBuf};

use raddle_engine::{CheckName, Schedule};
use raddle_report::{Failure, FailureKind, Report};

use crate::driver::run;
use crate::explain::last_words::LastWords;
use crate::explain::pages::{self, Pages};
use crate::persist::history::Diary;
use crate::persist::saved;
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// Where a package keeps schedules, from its folder.
const FOLDER: &str = "raddle-schedules";

/// A schedule that has failed before.
struct Known {
    schedule: Schedule,
    file: PathBuf,
    origin: Origin,
}

/// Where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// Somebody keeps it as a test.
    Regression,
    /// The last failure left it.
    Saved,
    /// An earlier run remembers it.
    Remembered,
}

impl Origin {
    /// What a report calls the search that found a failure.
    fn name(self) -> &'static str {
        match self {
            Origin::Regression => "regression schedule",
            Origin::Saved => "saved schedule",
            Origin::Remembered => "remembered schedule",
        }
    }
}

/// Runs the schedules that have failed before; what fails again.
pub(crate) fn run(
    checker: &Checker,
    name: &CheckName,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    diary: Option<&Diary>,
) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut all = match checker.known_schedules {
        true => find(name),
        false => Vec::new(),
    };
    for schedule in diary.into_iter().flat_map(Diary::failures) {
        if all.iter().all(|known| known.schedule != schedule) {
            all.push(Known {
                schedule,
                file: diary
                    .map(|diary| diary.path().to_owned())
                    .unwrap_or_default(),
                origin: Origin::Remembered,
            });
        }
    }
    for (index, known) in all.into_iter().enumerate() {
        let found_again = known.found_again();
        let words = LastWords {
            search: known.origin.name().to_owned(),
            check: Some(name.clone()),
            note: Some(found_again.clone()),
            saves: true,
            pages: Pages::of(checker),
        };
        let schedule = known.schedule.clone();
        let mut failure = match replay(checker, schedule, words, body, place) {
            Some(failure) if failure.kind != FailureKind::ScheduleMismatch => failure,
            none => {
                known.retire(name, none.as_ref().map(|failure| failure.message.as_str()));
                diary.inspect(|diary| diary.forget(&known.schedule));
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

/// What fails on a schedule.
pub(crate) fn replay(
    checker: &Checker,
    schedule: Schedule,
    words: LastWords,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
) -> Option<Failure> {
    let report = run_again(checker, schedule, words, body, place);
    report.failures.into_iter().next()
}

/// The same; all that is said of it.
pub(crate) fn run_again(
    checker: &Checker,
    schedule: Schedule,
    words: LastWords,
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
    run::run_saying(&replay, None, words, body, place, None)
}

/// What is known of this check.
///
/// # Panics
///
/// If a file among the sources cannot be read: it would protect from nothing.
fn find(check: &CheckName) -> Vec<Known> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = package.map(|package| package.join(FOLDER));
    let mut known = Vec::new();
    let mut add = |file: PathBuf, is_for: &dyn Fn(&Schedule) -> bool| {
        let schedule = read(&file).unwrap_or_else(|problem| {
            panic!("raddle: the regression test {}: {problem}", file.display())
        });
        if is_for(&schedule) {
            known.push(Known {
                schedule,
                file,
                origin: Origin::Regression,
            });
        }
    };
    let name = saved::file_name(&check.test);
    let own = folder.iter().flat_map(|folder| files(&folder.join(&name)));
    for file in own {
        // The folder says which test it is, under its present name.
        add(file, &|schedule| {
            let there = schedule.check.as_ref();
            there.is_none_or(|there| there.number == check.number)
        });
    }
    for file in folder.iter().flat_map(|folder| files(folder)) {
        // The schedule says which test it is, or else the file's name.
        let is_named = file.file_stem().is_some_and(|stem| *stem == *name);
        add(file, &|schedule| match &schedule.check {
            Some(there) => there == check,
            None => is_named && check.number == 1,
        });
    }
    if let Some(file) = saved::file(check) {
        match read(&file) {
            Ok(schedule) => known.push(Known {
                schedule,
                file,
                origin: Origin::Saved,
            }),
            Err(problem) => eprintln!(
                "raddle: {check}: the saved schedule {} is not used: {problem}",
                file.display()
            ),
        }
    }
    known
}

/// The schedules in a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "schedule") && file.is_file());
    files.sort();
    files
}

fn read(file: &Path) -> Result<Schedule, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    text.parse()
        .map_err(|error: raddle_engine::ScheduleError| error.to_string())
}

impl Known {
    /// What to say if it fails again.
    fn found_again(&self) -> String {
        let (origin, file) = (self.origin.name(), self.file.display());
        format!("found again by the {origin} {file}")
    }

    /// Whoever runs the check should know that the schedule does not fail; `problem` is why it
    /// could not, if it does not fit. A saved one has done its duty.
    fn retire(&self, check: &CheckName, problem: Option<&str>) {
        let file = self.file.display();
        let reason = match problem {
            Some(problem) => problem.lines().next().unwrap_or_default(),
            None => "it no longer fails",
        };
        match (self.origin, problem) {
            (Origin::Saved, _) => {
                // If it stays, the next run says so again.
                let _ = std::fs::remove_file(&self.file);
                pages::remove(check);
                eprintln!("raddle: {check}: the saved schedule {file} was removed: {reason}");
            }
            (Origin::Remembered, _) => {
                eprintln!("raddle: {check}: a schedule in {file} was removed: {reason}");
            }
            (Origin::Regression, Some(_)) => {
                eprintln!("raddle: {check}: the regression test {file} tests nothing: {reason}");
            }
            (Origin::Regression, None) => {}
        }
    }
}
