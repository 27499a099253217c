//! Checking a test.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use raddle::{Checker, Level, Report, Schedule, Strategy};

/// Value of [`Builder::max_branches`] that stands for raddle's own limit.
const DEFAULT_MAX_BRANCHES: usize = 1_000;

/// Bytes of stack of each thread, as for threads of std.
const STACK_SIZE: usize = 2 << 20;

/// The settings of a check, with the fields and the variables that loom has.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// No effect: any number of threads is allowed.
    pub max_threads: usize,
    /// Maximum number of events of one execution, 100,000 unless it is set. Defaults to
    /// `LOOM_MAX_BRANCHES`.
    pub max_branches: usize,
    /// Maximum number of executions. Defaults to `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Time limit. Defaults to `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// Maximum number of preemptions of the classes that are explored. Defaults to
    /// `LOOM_MAX_PREEMPTIONS`.
    pub preemption_bound: Option<usize>,
    /// File to which the schedule of a failure is written. If it exists, its schedule is replayed
    /// first. Defaults to `LOOM_CHECKPOINT_FILE`.
    pub checkpoint_file: Option<PathBuf>,
    /// No effect: the file has one schedule.
    pub checkpoint_interval: usize,
    /// No effect: executions are explored from the beginning.
    pub expect_explicit_explore: bool,
    /// No effect: failures always have locations.
    pub location: bool,
    /// No effect: failures always have their steps.
    pub log: bool,
}

/// Returns the value of a variable of loom.
///
/// # Panics
///
/// If it is none.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    let value = text.parse();
    Some(value.unwrap_or_else(|_| panic!("invalid value for `{name}`: `{text}`")))
}

impl Builder {
    /// Returns the default settings.
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(DEFAULT_MAX_BRANCHES),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: env::var("LOOM_LOCATION").is_ok(),
            log: env::var("LOOM_LOG").is_ok(),
        }
    }

    /// Sets the file of the failing schedule.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs every class of executions of `f` and panics with the story of the first failure.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let Some(file) = &self.checkpoint_file else {
            return self.checker().run(f).assert_ok();
        };
        if let Some(schedule) = read_schedule(file) {
            let replay = Strategy::Replay(schedule);
            self.checker().strategy(replay).run(&f).assert_ok();
        }
        let report = self.checker().run(f);
        write_schedule(file, &report);
        report.assert_ok();
    }

    fn checker(&self) -> Checker {
        let mut checker = Checker::new()
            .strategy(Strategy::Exhaustive)
            .leaks(Level::Deny)
            .stack_size(STACK_SIZE)
            // A file of its own takes the place of the schedules that raddle keeps.
            .known_schedules(self.checkpoint_file.is_none());
        if self.max_branches != DEFAULT_MAX_BRANCHES {
            checker = checker.max_events(self.max_branches);
        }
        if let Some(executions) = self.max_permutations {
            checker = checker.max_executions(executions as u64);
        }
        if let Some(time) = self.max_duration {
            checker = checker.max_time(time);
        }
        if let Some(bound) = self.preemption_bound {
            checker = checker.preemptions(bound.try_into().unwrap_or(u32::MAX));
        }
        checker
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the schedule in a file, if there is one.
fn read_schedule(file: &Path) -> Option<Schedule> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.parse().unwrap_or_else(|error| {
        panic!(
            "the checkpoint file {} has no schedule of raddle ({error}): remove it",
            file.display()
        )
    }))
}

/// Writes the schedule of the first failure; without one, removes the file.
fn write_schedule(file: &Path, report: &Report) {
    let written = match report.failures.first() {
        Some(failure) => fs::write(file, failure.schedule.to_string()),
        None if file.exists() => fs::remove_file(file),
        None => Ok(()),
    };
    if let Err(error) = written {
        eprintln!("raddle: {} cannot be written: {error}", file.display());
    }
}

/// Runs every class of executions of `f` and panics with the story of the first failure, with the
/// default settings.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}
