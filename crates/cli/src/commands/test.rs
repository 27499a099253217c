//! `cargo raddle test`: finds the tests that raddle checks and runs them, each in a process of its own.

use std::ffi::OsString;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Instant;

use serde_json::{Value, json};

use crate::arguments::{MessageFormat, TestArguments};
use crate::commands::error::Error;
use crate::commands::replay::FOLDER_VARIABLE;
use crate::commands::run as native;
use crate::commands::run::Manner;
use crate::output::diagnostics::Diagnostics;
use crate::output::junit;
use crate::output::progress::{self, Name, Show};
use crate::run::interrupts;
use crate::run::leftovers::{self, OwnFolder};
use crate::run::outcome::{self, Outcome, Told};
use crate::run::runner::{Message, Runner};
use crate::toolchain::binaries::{Binary, Test};
use crate::toolchain::cargo::{Cargo, Verdict};
use crate::toolchain::rust;

/// Builds and runs the tests that were asked for.
pub fn run(cargo: &Cargo, options: TestArguments) -> Result<Verdict, Error> {
    if !options.native && options.manner != Manner::default() {
        return Err(Error::NeedsNative);
    }
    let mut environment = environment(&options)?;
    let (for_cargo, for_tests) = options.split();
    if for_cargo.iter().any(|argument| argument == "--doc") {
        if options.native {
            return Err(Error::DocTestsAreNotNative);
        }
        // Only cargo knows how to run these.
        let arguments = options.for_cargo.clone();
        return cargo.run_tests(&arguments, &environment);
    }
    let packages = options
        .packages
        .iter()
        .flat_map(|package| ["--package", package])
        .map(OsString::from);
    let arguments: Vec<_> = packages.chain(for_cargo.iter().cloned()).collect();
    let wants_messages = options.message_format == Some(MessageFormat::Json);
    let built = match options.native {
        true => rust::build_tests(cargo, &arguments, wants_messages)?,
        false => cargo.build_binaries(&arguments, wants_messages)?,
    };
    let workspace = cargo.workspace()?;
    let binaries = match options.native {
        true => {
            environment.extend(native::folder(&workspace.target));
            built
        }
        false => with_raddle(built)?,
    };
    let (binaries, tests) = find(binaries, options.filter.as_deref(), for_tests)?;
    let mut run = Run {
        binaries: &binaries,
        tests: &tests,
        outcomes: tests.iter().map(|_| Outcome::default()).collect(),
        show: Show::new(
            tests.len(),
            longest(&binaries, &tests),
            options.json || wants_messages,
        ),
        diagnostics: wants_messages.then(|| Diagnostics::new(workspace.root)),
        is_json: options.json,
    };
    let cores = available_parallelism().map_or(1, usize::from);
    let raddle = workspace.target.join("raddle");
    if let Some(elsewhere) = std::env::var_os(FOLDER_VARIABLE) {
        leftovers::clear(Path::new(&elsewhere));
    }
    let folder = OwnFolder::new(&raddle).map_err(|cause| Error::CannotWrite {
        path: raddle,
        cause,
    })?;
    let runner = Runner {
        binaries: &binaries,
        tests: &tests,
        environment: &environment,
        jobs: options.jobs.map_or(cores, |jobs| jobs as usize),
        folder: folder.path(),
    };
    run.announce(runner.jobs);
    let start = Instant::now();
    runner.run(|message| run.hear(message));
    let outcomes = run.close(start);
    if let Some(path) = &options.junit {
        junit::write(path, &binaries, &tests, &outcomes)?;
    }
    verdict(&outcomes)
}

/// The binaries that use raddle.
fn with_raddle(built: Vec<Binary>) -> Result<Vec<Binary>, Error> {
    let binaries: Vec<_> = built.into_iter().filter(Binary::uses_raddle).collect();
    match binaries.is_empty() {
        true => Err(Error::NothingUsesRaddle),
        false => Ok(binaries),
    }
}

/// The binaries and their tests.
fn find(
    binaries: Vec<Binary>,
    filter: Option<&str>,
    for_tests: &[OsString],
) -> Result<(Vec<Binary>, Vec<Test>), Error> {
    let mut tests = Vec::new();
    for (index, binary) in binaries.iter().enumerate() {
        match binary.tests(filter, for_tests) {
            Ok(names) => tests.extend(names.into_iter().map(|name| Test {
                binary: index,
                name,
            })),
            Err(error @ Error::BinaryDoesNotList { .. }) => eprintln!("warning: {error}"),
            Err(error) => return Err(error),
        }
    }
    match (tests.is_empty(), filter) {
        (true, Some(filter)) => Err(Error::NoTestMatches {
            filter: filter.to_owned(),
        }),
        _ => Ok((binaries, tests)),
    }
}

/// How long the longest name is, as people see it.
fn longest(binaries: &[Binary], tests: &[Test]) -> usize {
    let lengths = tests.iter().map(|test| {
        let binary = binaries[test.binary].name.chars().count();
        binary + 1 + test.name.chars().count()
    });
    lengths.max().unwrap_or(0).min(60)
}

/// Tests that run.
struct Run<'a> {
    binaries: &'a [Binary],
    tests: &'a [Test],
    outcomes: Vec<Outcome>,
    show: Show,
    diagnostics: Option<Diagnostics>,
    is_json: bool,
}

impl Run<'_> {
    fn announce(&self, jobs: usize) {
        if self.is_json {
            let tests = self.tests.len();
            println!("{}", json!({ "event": "run-started", "tests": tests }));
        } else if self.diagnostics.is_none() {
            let plural = |number: usize, one: &str, more: &str| match number {
                1 => format!("1 {one}"),
                number => format!("{number} {more}"),
            };
            let tests = plural(self.tests.len(), "test", "tests");
            let binaries = plural(self.binaries.len(), "binary", "binaries");
            let at_once = jobs.min(self.tests.len().max(1));
            eprintln!("checking {tests} in {binaries}, {at_once} at once");
        }
    }

    fn name(&self, index: usize) -> Name<'_> {
        let test = &self.tests[index];
        Name {
            binary: &self.binaries[test.binary].name,
            test: &test.name,
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Begins(index) => {
                let name = name(self.binaries, self.tests, index);
                self.show.begins(index, &name);
                self.tell(index, json!({ "event": "test-started" }));
            }
            Message::Event(index, event) => {
                if event["event"] == "progress" {
                    let name = name(self.binaries, self.tests, index);
                    self.show.progress(index, &name, &event);
                }
                self.outcomes[index].hear(&event);
                self.tell(index, event);
            }
            Message::Ends(index, ended) => {
                self.outcomes[index].end(ended);
                let name = name(self.binaries, self.tests, index);
                let outcome = &self.outcomes[index];
                self.show.ends(index, &name, outcome);
                self.diagnose(index);
                let outcome = &self.outcomes[index];
                let is_told =
                    outcome.verdict == outcome::Verdict::Passed || !outcome.failures.is_empty();
                let output = (!is_told).then_some(&outcome.output);
                let event = json!({
                    "event": "test-finished",
                    "outcome": outcome.verdict.word(),
                    "checks": outcome.checks,
                    "seconds": outcome.time.as_secs_f64(),
                    "ending": outcome.ending,
                    "output": output,
                });
                self.tell(index, event);
            }
        }
    }

    /// For programs: what happens in which test.
    fn tell(&self, index: usize, mut event: Value) {
        if self.is_json {
            let name = self.name(index);
            event["binary"] = name.binary.into();
            event["test"] = name.test.into();
            println!("{event}");
        }
    }

    /// For editors: the lines that failures and warnings are about.
    fn diagnose(&mut self, index: usize) {
        let Some(diagnostics) = &mut self.diagnostics else {
            return;
        };
        let test = &self.tests[index];
        let (binary, outcome) = (&self.binaries[test.binary], &self.outcomes[index]);
        let mut say = |told: &Told, level: &str| {
            println!("{}", diagnostics.message(binary, &test.name, told, level));
        };
        outcome.failures.iter().for_each(|told| say(told, "error"));
        let warnings = outcome.warnings.iter();
        warnings.for_each(|told| say(told, "warning"));
    }

    fn close(self, start: Instant) -> Vec<Outcome> {
        self.show.close();
        let summary = progress::summary(&self.outcomes, start.elapsed());
        let count = |verdict| {
            let outcomes = self.outcomes.iter();
            outcomes.filter(|one| one.verdict == verdict).count()
        };
        if self.is_json {
            let event = json!({
                "event": "run-finished",
                "passed": count(outcome::Verdict::Passed),
                "failed": count(outcome::Verdict::Failed),
                "too_long": count(outcome::Verdict::TooLong),
                "broke": count(outcome::Verdict::Broke),
                "interrupted": count(outcome::Verdict::Interrupted),
                "not_run": count(outcome::Verdict::NotRun),
                "seconds": start.elapsed().as_secs_f64(),
            });
            println!("{event}");
        } else if self.diagnostics.is_none() {
            println!("\n{summary}");
        }
        self.outcomes
    }
}

fn name<'a>(binaries: &'a [Binary], tests: &'a [Test], index: usize) -> Name<'a> {
    let test = &tests[index];
    Name {
        binary: &binaries[test.binary].name,
        test: &test.name,
    }
}

fn verdict(outcomes: &[Outcome]) -> Result<Verdict, Error> {
    let is = |verdict| outcomes.iter().any(|one| one.verdict == verdict);
    match () {
        () if is(outcome::Verdict::Failed) => Ok(Verdict::Findings),
        () if is(outcome::Verdict::Broke) => Err(Error::TestsDidNotFinish),
        () if is(outcome::Verdict::TooLong) => Err(Error::TestsAreTooLong),
        () if interrupts::came() => Ok(Verdict::Interrupted),
        () => Ok(Verdict::Passed),
    }
}

/// What the flags are to the tests.
fn environment(options: &TestArguments) -> Result<Vec<(&'static str, OsString)>, Error> {
    let mut settings = options.search.environment()?;
    settings.extend(options.manner.environment());
    // How far tests are is ours to say.
    settings.push(("RADDLE_LOG", "off".into()));
    Ok(settings)
}
