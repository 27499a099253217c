//! The tests that judge changes, and what they reach.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::arguments::subcommands::JudgeArguments;
use crate::commands::error::Error;
use crate::commands::test::{self, BuiltTests};
use crate::output;
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::run::leftovers::RunDirectory;
use crate::run::mutant::{self, Judge, Mutant};
use crate::run::parallel::run_in_parallel;
use crate::run::runner::Runner;
use crate::source::CodeOfTests;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::data_directory;

/// Time after which a test with a change is killed, if it took long without; at least [`LEAST_TIME`].
const TIMES_AS_LONG: u32 = 5;
/// Longer than a check takes by itself, with what the watchdog needs.
const LEAST_TIME: Duration = Duration::from_secs(90);

/// Builds the tests that judge changes.
pub fn build(cargo: &Cargo, options: &JudgeArguments) -> Result<BuiltTests, Error> {
    if options.settings.has_native() {
        return Err(Error::NeedsNative);
    }
    output::set_colours(options.cargo.build.colours());
    test::build_tests(cargo, &options.as_test())
}

/// The tests that judge changes, after a run without a change.
pub struct Court<'a> {
    pub built: &'a BuiltTests,
    directory: RunDirectory,
    jobs: usize,
    in_tests: bool,
    time_limit: Option<Duration>,
    pub judges: Vec<Judge>,
}

impl<'a> Court<'a> {
    /// Runs all tests without a change.
    pub fn open(built: &'a BuiltTests, options: &JudgeArguments) -> Result<Self, Error> {
        let raddle = data_directory::within(&built.workspace.target);
        let directory =
            RunDirectory::new(&raddle).map_err(output::error::Error::cannot_write(&raddle))?;
        Self::open_in(directory, built, options)
    }

    /// The same with an existing directory for temporary files.
    pub fn open_in(
        directory: RunDirectory,
        built: &'a BuiltTests,
        options: &JudgeArguments,
    ) -> Result<Self, Error> {
        let cores = available_parallelism().map_or(1, usize::from);
        let mut court = Court {
            built,
            directory,
            jobs: options.jobs.map_or(cores, |jobs| jobs as usize),
            in_tests: options.in_tests,
            time_limit: None,
            judges: Vec::new(),
        };
        let count = built.tests.len();
        eprintln!("running {} as they are", counted(count, "test", "tests"));
        interrupts::listen();
        let results = Mutex::new(Vec::new());
        {
            let runner = court.runner();
            let appoint = |index: usize, sender: &std::sync::mpsc::Sender<_>| {
                let reached = court.reached_file(index);
                let _ = sender.send((index, mutant::appoint(&runner, index, Some(&reached))));
            };
            run_in_parallel(
                count,
                runner.jobs,
                interrupts::is_requested,
                appoint,
                |result| {
                    results.lock().expect("not poisoned").push(result);
                },
            );
        }
        for (index, result) in results.into_inner().expect("not poisoned") {
            let judge = result.map_err(|why| Error::FailsUnchanged {
                test: built.tests[index].name.clone(),
                why,
            })?;
            court.judges.push(judge);
        }
        // The quickest first, in the same order in every run of the same speed.
        court.judges.sort_by_key(|judge| (judge.time, judge.test));
        let slowest = court.judges.last().map_or(Duration::ZERO, |it| it.time);
        let limit = (slowest * TIMES_AS_LONG).max(LEAST_TIME);
        court.time_limit = Some(options.timeout.unwrap_or(limit));
        Ok(court)
    }

    /// The file in which a test records the marks that it reaches.
    fn reached_file(&self, test: usize) -> PathBuf {
        self.directory.path().join(format!("{test}.reached"))
    }

    /// Returns the marks that a test reached without a change.
    pub fn reached(&self, test: usize) -> HashSet<usize> {
        let text = std::fs::read_to_string(self.reached_file(test)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    pub fn runner(&self) -> Runner<'_> {
        Runner {
            binaries: &self.built.binaries,
            tests: &self.built.tests,
            environment: &self.built.environment,
            jobs: self.jobs,
            directory: self.directory.path(),
            time_limit: self.time_limit,
            since: None,
            #[cfg(unix)]
            front_end: None,
        }
    }

    /// Returns the changes of operations in this workspace that a test reaches.
    pub fn mutants(&self) -> Result<BTreeSet<Mutant>, Error> {
        let root = &self.built.workspace.root;
        let all = self.judges.iter().flat_map(|judge| &judge.mutants);
        let all: BTreeSet<_> = all.filter(|it| it.is_in(root)).cloned().collect();
        let mut code_of_tests = CodeOfTests::new(root);
        let (in_tests, others): (BTreeSet<_>, BTreeSet<_>) = all
            .into_iter()
            .partition(|it| code_of_tests.contains(&it.file, it.line));
        let chosen = match self.in_tests {
            true => others.union(&in_tests).cloned().collect(),
            false => others,
        };
        match chosen.is_empty() && !interrupts::is_requested() {
            true => Err(Error::NothingToChange {
                in_tests: in_tests.len(),
            }),
            false => Ok(chosen),
        }
    }

    /// Returns the tests that reach the operation of a change, the quickest first.
    pub fn judges_of(&self, mutant: &Mutant) -> impl Iterator<Item = usize> {
        // Other calls at the place may pass other orderings, and are changed, too.
        let is_there = |it: &Mutant| it.place() == mutant.place() && it.label() == mutant.label();
        let reaches = move |judge: &&Judge| judge.mutants.iter().any(is_there);
        self.judges.iter().filter(reaches).map(|judge| judge.test)
    }
}
