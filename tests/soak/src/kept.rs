//! What the tests have on disk, and what of it is missing later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_engine::Schedule;
use raddle_runs::{Remembered, RunsFile};

/// Time limit for opening the file; every test that had it open has ended by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything that must not be lost.
#[derive(Debug, Default)]
pub struct Kept {
    schedules: BTreeSet<PathBuf>,
    checks: BTreeMap<String, Remembered>,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_all =
            |count: fn(&Remembered) -> usize| self.checks.values().map(count).sum::<usize>();
        write!(
            f,
            "kept {} schedules, {} checks, {} runs, {} classes, {} failing schedules",
            self.schedules.len(),
            self.checks.len(),
            of_all(|check| check.runs.len()),
            of_all(|check| check.classes.len()),
            of_all(|check| check.failures.len()),
        )
    }
}

impl Kept {
    /// What is there now, or what cannot be read of it.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut kept = Kept::default();
        for path in files(folder) {
            if path
                .extension()
                .is_some_and(|extension| extension == "schedule")
            {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                let read = text.parse::<Schedule>();
                read.map_err(|problem| format!("{}: {problem}", crate::name(&path)))?;
                kept.schedules.insert(path);
            }
        }
        let file = RunsFile::given(folder.join("runs.redb"));
        let told = |problem: raddle_runs::Problem| problem.to_string();
        for check in file.checks(PATIENCE).map_err(told)? {
            let remembered = file.read(&check, PATIENCE).map_err(told)?;
            kept.checks.insert(check, remembered);
        }
        Ok(kept)
    }

    /// What was here and is not there now.
    pub fn lost(&self, now: &Kept) -> Option<String> {
        let gone: Vec<_> = self.schedules.difference(&now.schedules).collect();
        if !gone.is_empty() {
            return Some(format!("schedules are gone: {gone:?}"));
        }
        self.checks.iter().find_map(|(check, before)| {
            let Some(now) = now.checks.get(check) else {
                return Some(format!("nothing is remembered of {check}"));
            };
            let has_class = |class: &u64| now.classes.binary_search(class).is_ok();
            let has_run = |(number, run): (&u64, &raddle_runs::Run)| {
                let there = now.runs.get(number);
                there.is_some_and(|there| there.executions >= run.executions)
            };
            let is_whole = before.failures.is_subset(&now.failures)
                && before.classes.iter().all(has_class)
                && before.runs.iter().all(has_run);
            (!is_whole).then(|| format!("some of what was remembered of {check} is gone"))
        })
    }
}

/// Temporary and unreadable files that were not removed.
pub fn left_over(folder: &Path) -> Vec<String> {
    let is_left = |path: &PathBuf| {
        path.extension()
            .is_some_and(|it| it == "new" || it == "unreadable")
    };
    let files = files(folder).into_iter().filter(is_left);
    files
        .map(|path| format!("{} is left over", crate::name(&path)))
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files
}
