//! What came of each test.

use std::time::Duration;

use serde_json::Value;

use crate::run::runner::Ended;

/// What libtest exits with when a test failed.
const TEST_FAILURE: i32 = 101;

/// What is known of a test, from what its checks told and how it ended.
#[derive(Debug, Default)]
pub struct Outcome {
    pub verdict: Verdict,
    /// How many checks it ran.
    pub checks: usize,
    /// How far its last check went, in words.
    pub summary: Option<String>,
    /// Whether a longer check would find more, in words.
    pub advice: Option<String>,
    /// What goes wrong; see `RADDLE_EVENTS`.
    pub failures: Vec<Told>,
    /// What may go wrong one day.
    pub warnings: Vec<Told>,
    /// How to go on with what was interrupted.
    pub resume: Option<String>,
    pub time: Duration,
    /// What it printed.
    pub output: String,
    /// How its process ended, in words, if not as it should.
    pub ending: Option<String>,
    was_interrupted: bool,
    /// Names of checks that have begun and not ended.
    unfinished: Vec<Value>,
}

/// A failure or a warning.
#[derive(Clone, Debug)]
pub struct Told {
    pub failure: Value,
    pub story: String,
}

impl Told {
    /// `deadlock after 3 executions`.
    pub fn headline(&self) -> &str {
        let line = self.story.lines().next().unwrap_or_default();
        line.split_once(" (").map_or(line, |(line, _)| line)
    }

    /// Whether nothing is known but that it takes long.
    fn is_too_long(&self) -> bool {
        self.failure["kind"] == "TooLong"
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It has not run.
    #[default]
    NotRun,
    Passed,
    Failed,
    /// Somebody wanted it to stop, and nothing was wrong by then.
    Interrupted,
    /// Neither passed nor failed: an execution has more events than it may have.
    TooLong,
    /// Neither passed nor failed: a signal, the watchdog.
    Broke,
}

impl Verdict {
    /// One word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::NotRun => "not-run",
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Interrupted => "interrupted",
            Verdict::TooLong => "too-long",
            Verdict::Broke => "broke",
        }
    }
}

impl Outcome {
    /// Takes note of what a check told.
    pub fn hear(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        let told = || Told {
            failure: event["failure"].clone(),
            story: text("story").unwrap_or_default(),
        };
        match event["event"].as_str() {
            Some("started") => self.start(&event["check"]),
            Some("failure") => self.failures.push(told()),
            Some("warning") => self.warnings.push(told()),
            Some("finished") => {
                self.summary = text("summary");
                self.advice = text("advice");
                self.resume = text("resume").or(self.resume.take());
                self.was_interrupted |= event["interrupted"] == true;
                self.unfinished.retain(|check| *check != event["check"]);
            }
            _ => {}
        }
    }

    /// A check begins, or begins anew.
    fn start(&mut self, check: &Value) {
        if !self.unfinished.contains(check) {
            self.unfinished.push(check.clone());
            self.checks += 1;
        }
    }

    /// Takes note of how it ended.
    pub fn end(&mut self, ended: Ended) {
        self.time = ended.time;
        self.output = ended.output;
        let interrupted = self.was_interrupted || crate::run::interrupts::came();
        self.verdict = match &ended.status {
            _ if !self.failures.is_empty() => match self.failures.iter().all(Told::is_too_long) {
                true => Verdict::TooLong,
                false => Verdict::Failed,
            },
            Ok(status) if status.success() => Verdict::Passed,
            Ok(status) if status.code() == Some(TEST_FAILURE) => Verdict::Failed,
            Ok(_) if interrupted => Verdict::Interrupted,
            Ok(status) => {
                self.ending = Some(format!("its process ended with {status}"));
                Verdict::Broke
            }
            Err(error) => {
                self.ending = Some(format!("it could not be run: {error}"));
                Verdict::Broke
            }
        };
    }
}
