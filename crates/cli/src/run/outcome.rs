//! The outcome of a test, from the events of its checks and the end of its process.

use std::time::Duration;

use raddle_report::{Failure, Layout};
use serde_json::Value;

use crate::run::interrupts;
use crate::run::runner::FinishedProcess;

/// Exit code of libtest if a test failed.
const TEST_FAILURE: i32 = 101;

/// The outcome of a test.
#[derive(Debug, Default)]
pub struct TestOutcome {
    pub verdict: TestVerdict,
    /// Number of checks started.
    pub checks: usize,
    /// Results of the finished checks, in their order.
    pub results: Vec<CheckResult>,
    pub failures: Vec<Finding>,
    pub warnings: Vec<Finding>,
    /// Branches that interleaving decides, of each check that recorded them.
    pub branches: Vec<String>,
    /// The command that resumes an interrupted search.
    pub resume: Option<String>,
    pub time: Duration,
    /// Standard output and standard error.
    pub output: String,
    /// Abnormal end of the process, as text.
    pub ending: Option<String>,
    /// Events with the requirements of its checks, if it is compared with another version.
    pub requirements: Vec<Value>,
    /// The marked states that its executions came to, with their counts.
    pub reached: Vec<Value>,
    /// The reason why it need not run.
    pub unchanged: Option<String>,
    was_interrupted: bool,
    /// Names of checks that have started and not finished.
    unfinished: Vec<Value>,
}

/// The result of a finished check.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// Guarantee, numbers of classes and executions in one line.
    pub summary: String,
    /// The guarantee as reported in `RADDLE_EVENTS`: `"Exhaustive"`, or `{"Bounded": {"preemptions": 2}}`.
    guarantee: Value,
}

impl CheckResult {
    /// The guarantee as it is written in settings: `exhaustive`, `bounded:2`.
    pub fn guarantee(&self) -> String {
        let with_bound = |bounds: &serde_json::Map<String, Value>| {
            let (name, bound) = bounds.iter().next()?;
            let bound = bound.as_object()?.values().next()?.as_u64()?;
            Some(format!("{}:{bound}", name.to_lowercase()))
        };
        match &self.guarantee {
            Value::String(name) => name.to_lowercase(),
            Value::Object(bounds) => with_bound(bounds).unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// The order of guarantees: a smaller strength promises less. Bounds of different kinds are comparable to none,
    /// and are between samples and reductions; of these `paths` leaves out least.
    pub fn strength(&self) -> (u8, u64) {
        let text = self.guarantee();
        let (name, bound) = text.split_once(':').unwrap_or((&text, "0"));
        let rank = match name {
            "exhaustive" => 7,
            "paths" => 6,
            "reduced" => 5,
            "bounded" => 4,
            "delayed" => 3,
            "manners" => 2,
            "sampled" => 1,
            _ => 0,
        };
        (rank, bound.parse().unwrap_or_default())
    }
}

/// A failure or a warning, as reported in `RADDLE_EVENTS`.
#[derive(Clone, Debug)]
pub struct Finding {
    pub failure: Value,
    /// The rendered text.
    pub story: String,
}

impl Finding {
    /// Returns the first line of the text without the strategy: `deadlock after 3 executions`.
    pub fn headline(&self) -> &str {
        let line = self.story.lines().next().unwrap_or_default();
        line.split_once(" (").map_or(line, |(line, _)| line)
    }

    /// The text in this layout; as reported if another version of raddle has written the failure.
    pub fn shown(&self, layout: Layout) -> String {
        match serde_json::from_value::<Failure>(self.failure.clone()) {
            Ok(failure) => failure.laid_out(layout).to_string(),
            Err(_) => self.story.clone(),
        }
    }

    /// True when nothing was found, and less than the required guarantee was reached.
    fn is_missing_guarantee(&self) -> bool {
        let failure = serde_json::from_value::<Failure>(self.failure.clone());
        failure.is_ok_and(|it| it.is_missing_guarantee())
    }

    /// True when an execution exceeded the event limit and nothing else was found.
    fn is_too_long(&self) -> bool {
        self.failure["kind"] == "TooLong"
    }
}

/// The verdict on a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestVerdict {
    #[default]
    NotRun,
    /// Not run, because it has not changed since it passed.
    Unchanged,
    Passed,
    Failed,
    /// Interrupted before a failure was found.
    Interrupted,
    /// Undecided: an execution exceeded the event limit.
    TooLong,
    /// Undecided: a signal or the watchdog ended the process.
    Broke,
}

impl TestVerdict {
    /// Returns the verdict in machine-readable output.
    pub fn word(self) -> &'static str {
        match self {
            TestVerdict::NotRun => "not-run",
            TestVerdict::Unchanged => "unchanged",
            TestVerdict::Passed => "passed",
            TestVerdict::Failed => "failed",
            TestVerdict::Interrupted => "interrupted",
            TestVerdict::TooLong => "too-long",
            TestVerdict::Broke => "broke",
        }
    }
}

impl TestOutcome {
    /// Records an event of a check.
    pub fn record(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        let finding = || Finding {
            failure: event["failure"].clone(),
            story: text("story").unwrap_or_default(),
        };
        match event["event"].as_str() {
            Some("started") => self.start(&event["check"]),
            Some("failure") => self.failures.push(finding()),
            Some("warning") => self.warnings.push(finding()),
            Some("requirements") => self.requirements.push(event.clone()),
            Some("finished") => {
                self.results.push(CheckResult {
                    summary: text("summary").unwrap_or_default(),
                    guarantee: event["guarantee"].clone(),
                });
                self.reached
                    .extend(event["reached"].as_array().into_iter().flatten().cloned());
                let branches = event["branches"]["text"].as_str();
                self.branches.extend(branches.map(str::to_owned));
                self.resume = text("resume").or(self.resume.take());
                self.was_interrupted |= event["interrupted"] == true;
                self.unfinished.retain(|check| *check != event["check"]);
            }
            _ => {}
        }
    }

    /// The result that promises least, the first of several.
    pub fn weakest(&self) -> Option<&CheckResult> {
        self.results.iter().min_by_key(|result| result.strength())
    }

    /// True when the test failed only because its checks reached less than the guarantees that they require.
    pub fn is_missing_guarantees(&self) -> bool {
        !self.failures.is_empty() && self.failures.iter().all(Finding::is_missing_guarantee)
    }

    /// Records that the test need not run.
    pub fn skip(&mut self, reason: String) {
        self.verdict = TestVerdict::Unchanged;
        self.unchanged = Some(reason);
    }

    /// Returns the outcome in one line.
    pub fn brief(&self) -> String {
        if let Some(text) = self.unchanged.as_ref().or(self.ending.as_ref()) {
            return text.clone();
        }
        match (self.verdict, self.failures.first()) {
            (_, Some(failure)) => failure.headline().to_owned(),
            (TestVerdict::Failed, None) => "failed".to_owned(),
            (TestVerdict::Interrupted, None) if self.results.is_empty() => "interrupted".to_owned(),
            _ => match (self.weakest(), self.checks) {
                (Some(result), 1) => result.summary.clone(),
                (Some(weakest), checks) => {
                    format!("{checks} checks, the weakest: {}", weakest.summary)
                }
                (None, _) => "no checks".to_owned(),
            },
        }
    }

    /// Counts a check unless it has only restarted.
    fn start(&mut self, check: &Value) {
        if !self.unfinished.contains(check) {
            self.unfinished.push(check.clone());
            self.checks += 1;
        }
    }

    /// Records the end of the process, which decides the verdict.
    pub fn finish(&mut self, process: FinishedProcess) {
        self.time = process.time;
        self.output = process.output;
        let interrupted = self.was_interrupted || interrupts::is_requested();
        self.verdict = match &process.status {
            _ if !self.failures.is_empty() => {
                match self.failures.iter().all(Finding::is_too_long) {
                    true => TestVerdict::TooLong,
                    false => TestVerdict::Failed,
                }
            }
            Ok(status) if status.success() => TestVerdict::Passed,
            Ok(status) if status.code() == Some(TEST_FAILURE) => TestVerdict::Failed,
            Ok(_) if interrupted => TestVerdict::Interrupted,
            Ok(status) => {
                self.ending = Some(format!("its process ended with {status}"));
                TestVerdict::Broke
            }
            Err(error) => {
                self.ending = Some(format!("its process could not be run: {error}"));
                TestVerdict::Broke
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_weakest_result_stands_for_all() {
        let events = [
            (json!("Exhaustive"), "exhaustive"),
            (json!("Paths"), "paths"),
            (json!("Reduced"), "reduced"),
            (json!({ "Bounded": { "preemptions": 3 } }), "bounded:3"),
            (json!({ "Bounded": { "preemptions": 2 } }), "bounded:2"),
            (json!({ "Delayed": { "delays": 4 } }), "delayed:4"),
            (json!("Manners"), "manners"),
            (json!("Sampled"), "sampled"),
            (json!("Replayed"), "replayed"),
        ];
        let mut outcome = TestOutcome::default();
        assert!(outcome.weakest().is_none());
        for (guarantee, expected) in events {
            let event = json!({ "event": "finished", "summary": "", "guarantee": guarantee });
            outcome.record(&event);
            assert_eq!(outcome.weakest().unwrap().guarantee(), expected);
        }
    }
}
