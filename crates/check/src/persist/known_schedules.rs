//! Schedules that failed before: regression tests kept with the package's sources, and the schedule
//! of the last failure.

use std::path::{Path, PathBuf};

use raddle_engine::{CheckName, Schedule};

use crate::persist::learnt::Learnt;
use crate::persist::saved;

/// The folder with a package's schedules, relative to the package.
const FOLDER: &str = "raddle-schedules";

/// A schedule that failed before.
pub(crate) struct KnownSchedule {
    pub(crate) schedule: Schedule,
    /// The explanation of its failure, if the file has one.
    pub(crate) learnt: Option<Learnt>,
    pub(crate) file: PathBuf,
    pub(crate) origin: Origin,
}

/// The origin of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Kept with the sources as a regression test.
    Regression,
    /// Saved by the last failure.
    Saved,
    /// Recorded in the history.
    Remembered,
}

impl Origin {
    /// Returns the name of the search in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Regression => "regression schedule",
            Origin::Saved => "saved schedule",
            Origin::Remembered => "remembered schedule",
        }
    }
}

/// Finds the schedules of this check.
///
/// # Panics
///
/// If a file among the sources cannot be read: the regression test would test nothing.
pub(crate) fn find(check: &CheckName) -> Vec<KnownSchedule> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let folder = package.map(|package| package.join(FOLDER));
    let mut known = Vec::new();
    let mut add = |file: PathBuf, is_for: &dyn Fn(&Schedule) -> bool| {
        let (schedule, learnt) = read(&file).unwrap_or_else(|problem| {
            panic!("raddle: the regression test {}: {problem}", file.display())
        });
        if is_for(&schedule) {
            known.push(KnownSchedule {
                schedule,
                learnt,
                file,
                origin: Origin::Regression,
            });
        }
    };
    let name = saved::file_name(&check.test);
    let own = folder.iter().flat_map(|folder| files(&folder.join(&name)));
    for file in own {
        // The folder names the test, under its present name.
        add(file, &|schedule| {
            let there = schedule.check.as_ref();
            there.is_none_or(|there| there.number == check.number)
        });
    }
    for file in folder.iter().flat_map(|folder| files(folder)) {
        // The schedule names the test; otherwise the name of the file does.
        let is_named = file.file_stem().is_some_and(|stem| *stem == *name);
        add(file, &|schedule| match &schedule.check {
            Some(there) => there == check,
            None => is_named && check.number == 1,
        });
    }
    if let Some(file) = saved::file(check) {
        match read(&file) {
            Ok((schedule, learnt)) => known.push(KnownSchedule {
                schedule,
                learnt,
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

/// Returns the schedules in a folder, sorted by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "schedule") && file.is_file());
    files.sort();
    files
}

fn read(file: &Path) -> Result<(Schedule, Option<Learnt>), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let schedule = text.parse();
    let schedule = schedule.map_err(|error: raddle_engine::ScheduleError| error.to_string())?;
    Ok((schedule, Learnt::parse(&text)))
}

impl KnownSchedule {
    /// Returns the note for a schedule that fails again.
    pub(crate) fn found_again(&self) -> String {
        let (origin, file) = (self.origin.name(), self.file.display());
        format!("found again by the {origin} {file}")
    }

    /// Prints that the schedule no longer fails; `problem` is the reason if it does not fit the
    /// program. A saved schedule is removed.
    pub(crate) fn retire(&self, check: &CheckName, problem: Option<&str>) {
        let file = self.file.display();
        let reason = match problem {
            Some(problem) => problem.lines().next().unwrap_or_default(),
            None => "it no longer fails",
        };
        match (self.origin, problem) {
            (Origin::Saved, _) => {
                // If it cannot be removed, the next run prints the same.
                let _ = std::fs::remove_file(&self.file);
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
