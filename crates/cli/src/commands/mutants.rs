//! `cargo raddle mutants`: changes operations one by one, and tells which changes the tests notice.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Instant;

use console::style;
use serde_json::json;

use crate::arguments::subcommands::{JudgeArguments, MutantsArguments};
use crate::commands::error::Error;
#[cfg(unix)]
use crate::commands::queue;
use crate::commands::test::{self, BuiltTests};
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::run::leftovers::RunDirectory;
use crate::run::mutant::{self, Judge, Judgement, Mutant};
use crate::run::parallel::run_in_parallel;
use crate::run::runner::Runner;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::data_directory;

pub fn run(cargo: &Cargo, options: &MutantsArguments) -> Result<Verdict, Error> {
    // Before the build, which takes time.
    #[cfg(unix)]
    let address = options
        .queue
        .as_deref()
        .map(|given| queue::address(Some(given)));
    #[cfg(unix)]
    let address = address.transpose()?;
    #[cfg(not(unix))]
    if options.queue.is_some() {
        return Err(Error::QueueNeedsUnix);
    }
    let built = build(cargo, &options.tests)?;
    let court = Court::open(&built, &options.tests)?;
    let runner = court.runner();
    let mut mutants: Vec<_> = court.mutants()?.into_iter().collect();
    if let Some(revision) = &options.in_diff {
        let lines = changed_lines(&built.workspace.root, revision)?;
        mutants.retain(|mutant| lines.contains(&(mutant.file.clone(), mutant.line)));
    }
    if let Some(shard) = options.shard {
        let mine = |(index, _): &(usize, Mutant)| index % shard.of == shard.part - 1;
        let numbered = mutants.into_iter().enumerate();
        mutants = numbered.filter(mine).map(|(_, mutant)| mutant).collect();
    }
    if options.list {
        for mutant in &mutants {
            match options.json {
                true => println!("{}", record(mutant, None)),
                false => println!("{mutant}"),
            }
        }
        eprintln!("{}", counted(mutants.len(), "change", "changes"));
        return Ok(Verdict::Passed);
    }
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut receive = |(index, judgement): (usize, Judgement)| {
        counts.add(&judgement);
        let mutant: &Mutant = &mutants[index];
        match options.json {
            true => println!("{}", record(mutant, Some((&judgement, &built)))),
            false => print(mutant, &judgement, &built),
        }
    };
    #[cfg(unix)]
    let is_shared = match address {
        Some(address) => {
            share(address, options, &court, &mutants, &mut receive)?;
            true
        }
        None => false,
    };
    #[cfg(not(unix))]
    let is_shared = false;
    let judge = |index: usize, sender: &std::sync::mpsc::Sender<_>| {
        let mutant: &Mutant = &mutants[index];
        let judgement = mutant::judge(&runner, index, &[mutant], court.judges_of(mutant));
        let _ = sender.send((index, judgement));
    };
    if !is_shared {
        run_in_parallel(
            mutants.len(),
            runner.jobs,
            interrupts::is_requested,
            judge,
            |judged| {
                if !interrupts::is_requested() {
                    receive(judged);
                }
            },
        );
    }
    eprintln!(
        "{} in {:.1} s",
        counts.in_words(),
        start.elapsed().as_secs_f64()
    );
    Ok(match () {
        () if interrupts::is_requested() => Verdict::Interrupted,
        () if counts.killed < counts.all => Verdict::Failed,
        () => Verdict::Passed,
    })
}

/// Has the workers of a queue judge the changes.
#[cfg(unix)]
fn share(
    address: raddle_queue::Address,
    options: &MutantsArguments,
    court: &Court<'_>,
    mutants: &[Mutant],
    receive: &mut dyn FnMut((usize, Judgement)),
) -> Result<(), Error> {
    use crate::run::queue::mutants::{Job, settings};
    use crate::toolchain::binaries::Test;

    let BuiltTests {
        binaries, tests, ..
    } = court.built;
    let name = |index: usize| {
        let test = &tests[index];
        (binaries[test.binary].name.clone(), test.name.clone())
    };
    let job = |mutant: &Mutant| Job {
        change: mutant.variable(),
        tests: court.judges_of(mutant).map(name).collect(),
    };
    let jobs: Vec<Job> = mutants.iter().map(job).collect();
    let index = |binary: &str, test: &str| {
        let is_it = |it: &Test| it.name == test && binaries[it.binary].name == binary;
        tests.iter().position(is_it)
    };
    let front_end = queue::open_for_mutants(address, options)?;
    let judged = front_end.present(|| {
        let settings = settings(&jobs, binaries);
        front_end.judge(&jobs, settings, &index, |number, judgement| {
            receive((number, judgement));
        })
    });
    front_end.close(judged.is_ok() && !interrupts::is_requested())?;
    Ok(judged?)
}

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
    built: &'a BuiltTests,
    directory: RunDirectory,
    jobs: usize,
    in_tests: bool,
    pub judges: Vec<Judge>,
}

impl<'a> Court<'a> {
    /// Runs all tests without a change.
    pub fn open(built: &'a BuiltTests, options: &JudgeArguments) -> Result<Self, Error> {
        let raddle = data_directory::within(&built.workspace.target);
        let directory =
            RunDirectory::new(&raddle).map_err(output::error::Error::cannot_write(&raddle))?;
        let cores = available_parallelism().map_or(1, usize::from);
        let mut court = Court {
            built,
            directory,
            jobs: options.jobs.map_or(cores, |jobs| jobs as usize),
            in_tests: options.in_tests,
            judges: Vec::new(),
        };
        let count = built.tests.len();
        eprintln!("running {} as they are", counted(count, "test", "tests"));
        interrupts::listen();
        let results = Mutex::new(Vec::new());
        {
            let runner = court.runner();
            let appoint = |index: usize, sender: &std::sync::mpsc::Sender<_>| {
                let _ = sender.send((index, mutant::appoint(&runner, index)));
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
        Ok(court)
    }

    pub fn runner(&self) -> Runner<'_> {
        Runner {
            binaries: &self.built.binaries,
            tests: &self.built.tests,
            environment: &self.built.environment,
            jobs: self.jobs,
            directory: self.directory.path(),
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
        let (in_tests, others): (BTreeSet<_>, BTreeSet<_>) =
            all.into_iter().partition(|it| it.is_in_test(root));
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

#[derive(Default)]
struct Counts {
    all: usize,
    killed: usize,
    exhaustive: usize,
    undecided: usize,
}

impl Counts {
    fn add(&mut self, judgement: &Judgement) {
        self.all += 1;
        match judgement {
            Judgement::Killed { .. } => self.killed += 1,
            Judgement::Survived { is_exhaustive, .. } => {
                self.exhaustive += usize::from(*is_exhaustive);
            }
            Judgement::Undecided { .. } => self.undecided += 1,
        }
    }

    fn in_words(&self) -> String {
        let survived = self.all - self.killed - self.undecided;
        let mut text = format!(
            "{}: {} noticed, {survived} not noticed",
            counted(self.all, "change", "changes"),
            self.killed,
        );
        if self.exhaustive > 0 {
            text += &format!(" ({} although every behaviour was run)", self.exhaustive);
        }
        if self.undecided > 0 {
            text += &format!(", {} undecided", self.undecided);
        }
        text
    }
}

fn print(mutant: &Mutant, judgement: &Judgement, built: &BuiltTests) {
    let name = |test: &usize| &built.tests[*test].name;
    match judgement {
        Judgement::Killed { test, headline } => println!(
            "{}      {mutant}\n             by {}: {headline}",
            style("noticed").green(),
            name(test)
        ),
        Judgement::Survived {
            is_exhaustive,
            load_buffering,
        } => {
            let how = match is_exhaustive {
                true if !load_buffering.is_empty() => {
                    "no behaviour of the memory model shows a difference; load buffering, which it does not have, may"
                }
                true => {
                    "every behaviour of the tests that reach it was run: it makes no difference to them"
                }
                false => "not every behaviour was run",
            };
            println!(
                "{}  {mutant}\n             {how}",
                style("not noticed").red()
            );
        }
        Judgement::Undecided { test, why } => println!(
            "{}    {mutant}\n             {}: {why}",
            style("undecided").yellow(),
            name(test)
        ),
    }
}

fn record(mutant: &Mutant, judgement: Option<(&Judgement, &BuiltTests)>) -> serde_json::Value {
    let mut record = json!({
        "file": mutant.file,
        "line": mutant.line,
        "column": mutant.column,
        "operation": mutant.operation,
        "change": mutant.change,
        "mutant": mutant.variable(),
    });
    let Some((judgement, built)) = judgement else {
        return record;
    };
    let name = |test: &usize| json!(built.tests[*test].name);
    match judgement {
        Judgement::Killed { test, headline } => {
            record["outcome"] = "noticed".into();
            record["test"] = name(test);
            record["failure"] = headline.as_str().into();
        }
        Judgement::Survived {
            is_exhaustive,
            load_buffering,
        } => {
            record["outcome"] = "not noticed".into();
            record["exhaustive"] = (*is_exhaustive).into();
            record["load_buffering"] = (!load_buffering.is_empty()).into();
        }
        Judgement::Undecided { test, why } => {
            record["outcome"] = "undecided".into();
            record["test"] = name(test);
            record["why"] = why.as_str().into();
        }
    }
    record
}

/// Returns the lines that differ from a revision, by file as checks name it.
fn changed_lines(root: &Path, revision: &str) -> Result<BTreeSet<(String, u32)>, Error> {
    let problem = |problem: String| Error::NoDiff {
        revision: revision.to_owned(),
        problem,
    };
    let diff = Command::new("git")
        .args([
            "diff",
            "--unified=0",
            "--no-color",
            "--relative",
            revision,
            "--",
        ])
        .current_dir(root)
        .output()
        .map_err(|error| problem(error.to_string()))?;
    if !diff.status.success() {
        let text = String::from_utf8_lossy(&diff.stderr);
        let first = text.lines().next().unwrap_or_default();
        return Err(problem(first.to_owned()));
    }
    Ok(lines_of_diff(&String::from_utf8_lossy(&diff.stdout)))
}

/// Returns the lines that a diff without context adds or changes.
fn lines_of_diff(diff: &str) -> BTreeSet<(String, u32)> {
    let mut lines = BTreeSet::new();
    let mut file = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(str::to_owned);
        }
        let Some(hunk) = line.strip_prefix("@@ ") else {
            continue;
        };
        let new = hunk.split(' ').find_map(|word| word.strip_prefix('+'));
        let (Some(new), Some(file)) = (new, &file) else {
            continue;
        };
        let (start, count) = new.split_once(',').unwrap_or((new, "1"));
        if let (Ok(start), Ok(count)) = (start.parse::<u32>(), count.parse::<u32>()) {
            lines.extend((start..start + count).map(|line| (file.clone(), line)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_those_of_the_new_version() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3 +3,2 @@ fn\n-x\n+y\n+z\n\
                    @@ -9,2 +10,0 @@\n-a\n-b\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let lines: Vec<_> = lines_of_diff(diff).into_iter().collect();
        assert_eq!(
            lines,
            [("src/a.rs".to_owned(), 3), ("src/a.rs".to_owned(), 4)]
        );
    }
}
