//! Collects the outcomes of running tests and prints them in the requested format.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::output::diagnostics::Diagnostics;
use crate::output::plural::counted;
use crate::output::progress::{self, Progress, TestName};
use crate::run::outcome::{CheckResult, Finding, TestOutcome, TestVerdict};
use crate::run::reached::{self, UnreachedState};
use crate::run::runner::TestMessage;
use crate::toolchain::binaries::{Test, TestBinary};

/// Format of the printed results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    Human,
    /// A JSON object per line for each event.
    JsonLines,
    /// Compiler messages for failures and warnings.
    Diagnostics,
}

/// Prints results while tests run.
pub struct Reporter<'a> {
    binaries: &'a [TestBinary],
    tests: &'a [Test],
    outcomes: Vec<TestOutcome>,
    format: ResultFormat,
    progress: Progress,
    diagnostics: Diagnostics,
    /// Root of the workspace, if all tests of the binaries are selected.
    sources: Option<PathBuf>,
    start: Instant,
}

impl<'a> Reporter<'a> {
    /// Creates a reporter for these tests in a workspace with this root. `are_all` is true if no test was left out by its
    /// name.
    pub fn new(
        binaries: &'a [TestBinary],
        tests: &'a [Test],
        format: ResultFormat,
        root: PathBuf,
        are_all: bool,
    ) -> Self {
        let names = tests.iter().map(|test| name(binaries, test));
        Reporter {
            binaries,
            tests,
            outcomes: tests.iter().map(|_| TestOutcome::default()).collect(),
            format,
            progress: Progress::new(names, format != ResultFormat::Human),
            sources: are_all.then(|| root.clone()),
            diagnostics: Diagnostics::new(root),
            start: Instant::now(),
        }
    }

    /// Announces this number of tests, as many at a time, and starts the clock.
    pub fn start(&mut self, count: usize, jobs: usize) {
        match self.format {
            ResultFormat::Human => {
                let tests = counted(count, "test", "tests");
                let binaries = counted(self.binaries.len(), "binary", "binaries");
                let jobs = jobs.min(count.max(1));
                eprintln!("checking {tests} in {binaries}, {jobs} at once");
            }
            ResultFormat::JsonLines => {
                println!("{}", json!({ "event": "run-started", "tests": count }));
            }
            ResultFormat::Diagnostics => {}
        }
        self.start = Instant::now();
    }

    pub fn receive(&mut self, message: TestMessage) {
        match message {
            TestMessage::Started(index) => {
                let name = name(self.binaries, &self.tests[index]);
                self.progress.started(index, name);
                self.print_event(index, json!({ "event": "test-started" }));
            }
            TestMessage::Event(index, event) => {
                if event["event"] == "progress" {
                    let name = name(self.binaries, &self.tests[index]);
                    self.progress.advanced(index, name, &event);
                }
                if event["event"] == "found" {
                    let name = name(self.binaries, &self.tests[index]);
                    self.progress.found(name, &event);
                }
                self.outcomes[index].record(&event);
                self.print_event(index, event);
            }
            TestMessage::Finished(index, process) => {
                self.outcomes[index].finish(process);
                let name = name(self.binaries, &self.tests[index]);
                self.progress.finished(index, name, &self.outcomes[index]);
                self.print_diagnostics(index);
                self.print_event(index, finished_event(&self.outcomes[index]));
            }
        }
    }

    /// Reports a test that need not run.
    pub fn skip(&mut self, index: usize, reason: String) {
        self.outcomes[index].skip(reason);
        let name = name(self.binaries, &self.tests[index]);
        self.progress.finished(index, name, &self.outcomes[index]);
        self.print_event(index, finished_event(&self.outcomes[index]));
    }

    /// Prints an event, with the test that it belongs to.
    fn print_event(&self, index: usize, mut event: Value) {
        if self.format == ResultFormat::JsonLines {
            let name = name(self.binaries, &self.tests[index]);
            event["binary"] = name.binary.into();
            event["test"] = name.test.into();
            println!("{event}");
        }
    }

    fn print_diagnostics(&mut self, index: usize) {
        if self.format != ResultFormat::Diagnostics {
            return;
        }
        let test = &self.tests[index];
        let (binary, outcome) = (&self.binaries[test.binary], &self.outcomes[index]);
        let mut print = |finding: &Finding, level: &str| {
            let message = self.diagnostics.message(binary, &test.name, finding, level);
            println!("{message}");
        };
        outcome
            .failures
            .iter()
            .for_each(|finding| print(finding, "error"));
        outcome
            .warnings
            .iter()
            .for_each(|finding| print(finding, "warning"));
    }

    /// Prints the summary and returns the outcomes.
    pub fn finish(self) -> Vec<TestOutcome> {
        self.progress.close();
        let time = self.start.elapsed();
        let count = |verdict| {
            let outcomes = self.outcomes.iter();
            outcomes.filter(|one| one.verdict == verdict).count()
        };
        let unreached = reached::unreached(self.sources.as_deref(), self.binaries, &self.outcomes);
        match self.format {
            ResultFormat::Human => {
                print!("{}", progress::unreached(&unreached));
                println!("\n{}", progress::summary(&self.outcomes, time));
            }
            ResultFormat::JsonLines => {
                let event = json!({
                    "event": "run-finished",
                    "passed": count(TestVerdict::Passed),
                    "failed": count(TestVerdict::Failed),
                    "too_long": count(TestVerdict::TooLong),
                    "broke": count(TestVerdict::Broke),
                    "interrupted": count(TestVerdict::Interrupted),
                    "not_run": count(TestVerdict::NotRun),
                    "unchanged": count(TestVerdict::Unchanged),
                    "seconds": time.as_secs_f64(),
                    "unreached": unreached.iter().map(unreached_state).collect::<Vec<_>>(),
                });
                println!("{event}");
            }
            ResultFormat::Diagnostics => {}
        }
        self.outcomes
    }
}

/// Returns the event for the end of a test. It has the output if no failure explains the verdict.
fn finished_event(outcome: &TestOutcome) -> Value {
    let is_explained = matches!(
        outcome.verdict,
        TestVerdict::Passed | TestVerdict::Unchanged
    ) || !outcome.failures.is_empty();
    json!({
        "event": "test-finished",
        "outcome": outcome.verdict.word(),
        "checks": outcome.checks,
        "guarantee": outcome.weakest().map(CheckResult::guarantee),
        "seconds": outcome.time.as_secs_f64(),
        "ending": outcome.ending,
        "unchanged": outcome.unchanged,
        "output": (!is_explained).then_some(&outcome.output),
    })
}

/// Returns a state that no test has reached, for machines.
fn unreached_state(state: &UnreachedState) -> Value {
    json!({ "name": state.name, "place": state.place, "was_false": state.was_false })
}

fn name<'a>(binaries: &'a [TestBinary], test: &'a Test) -> TestName<'a> {
    TestName {
        binary: &binaries[test.binary].name,
        test: &test.name,
    }
}
