//! Changes of single operations, and tests as their judges.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::run::outcome::{CheckResult, TestOutcome, TestVerdict};
use crate::run::runner::{FinishedProcess, Runner};
use crate::source::REACHED;

/// A change of the operations at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutant {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Operation with its orderings: `store Release`.
    pub operation: String,
    /// The change in one word: `Relaxed`, `failure=Acquire`, `notify-one`, `omit`.
    pub change: String,
}

impl Mutant {
    /// Reads a change and the description of its operation, as a check lists them.
    pub fn from_event(possible: &Value) -> Option<Self> {
        let mut words = possible["mutant"].as_str()?.rsplitn(3, ' ');
        let (change, _label, place) = (words.next()?, words.next()?, words.next()?);
        let mut parts = place.rsplitn(3, ':');
        Some(Mutant {
            column: parts.next()?.parse().ok()?,
            line: parts.next()?.parse().ok()?,
            file: parts.next()?.to_owned(),
            operation: possible["operation"].as_str()?.to_owned(),
            change: change.to_owned(),
        })
    }

    /// The place as checks write it.
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// The word for the operation: `store`.
    pub fn label(&self) -> &str {
        self.operation.split(' ').next().unwrap_or_default()
    }

    /// The change as `RADDLE_MUTANT` takes it.
    pub fn variable(&self) -> String {
        format!("{} {} {}", self.place(), self.label(), self.change)
    }

    /// True when the file belongs to the workspace, and not to a dependency.
    pub fn is_in(&self, root: &Path) -> bool {
        let file = Path::new(&self.file);
        (file.is_relative() && root.join(file).exists()) || file.starts_with(root)
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change.as_str() {
            "omit" => "left out",
            change => change,
        };
        write!(f, "{}: {} -> {change}", self.place(), self.operation)
    }
}

/// A test that has passed without a change.
#[derive(Clone, Debug)]
pub struct Judge {
    /// Index of the test.
    pub test: usize,
    pub time: Duration,
    /// True when every behaviour was run.
    pub is_exhaustive: bool,
    /// Changes of operations that it reaches.
    pub mutants: Vec<Mutant>,
}

/// The end of a test with changed operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A test failed.
    Killed {
        /// Index of the test.
        test: usize,
        /// What went wrong in one line, with the number of executions.
        headline: String,
    },
    /// Every test passed.
    Survived {
        /// True when every behaviour was run in all of them.
        is_exhaustive: bool,
        /// The least that a check of them guarantees, as it is written in settings.
        guarantee: String,
        /// Places of changed operations that load buffering could use.
        load_buffering: Vec<String>,
    },
    /// A test came to no end, or not in its time.
    TimedOut { test: usize, why: String },
    /// A test neither passed nor failed.
    Undecided { test: usize, why: String },
}

/// Runs a test without a change; an error says why it cannot be a judge. With a file, code with marks records there
/// which of them it reaches.
pub fn appoint(runner: &Runner<'_>, test: usize, reached: Option<&Path>) -> Result<Judge, String> {
    let mut mutants = BTreeMap::new();
    let mut variables = vec![(MUTANT, "list".as_ref())];
    variables.extend(reached.map(|file| (REACHED, file.as_os_str())));
    let Ran { outcome, .. } = run(runner, test, test, &variables, |event| {
        for possible in event["possible"].as_array().into_iter().flatten() {
            if let Some(mutant) = Mutant::from_event(possible) {
                mutants.entry(mutant).or_insert(());
            }
        }
    });
    match outcome.verdict {
        TestVerdict::Passed => Ok(Judge {
            test,
            time: outcome.time,
            is_exhaustive: is_exhaustive(&outcome),
            mutants: mutants.into_keys().collect(),
        }),
        _ => Err(headline(&outcome)),
    }
}

/// Runs tests with changes until one fails. `number` is one that no other running judgement has.
pub fn judge(
    runner: &Runner<'_>,
    number: usize,
    changes: &[&Mutant],
    tests: impl IntoIterator<Item = usize>,
) -> Judgement {
    let changes: Vec<_> = changes.iter().map(|it| it.variable()).collect();
    judge_change(runner, number, &changes.join(";"), tests)
}

/// The variable with changes of operations.
const MUTANT: &str = "RADDLE_MUTANT";

/// The same for changes as `RADDLE_MUTANT` takes them.
pub fn judge_change(
    runner: &Runner<'_>,
    number: usize,
    changes: &str,
    tests: impl IntoIterator<Item = usize>,
) -> Judgement {
    judge_with(runner, number, &[(MUTANT, changes.as_ref())], tests)
}

/// The same for a source that is changed, or that changes if these variables are set.
pub fn judge_with(
    runner: &Runner<'_>,
    number: usize,
    variables: &[(&str, &OsStr)],
    tests: impl IntoIterator<Item = usize>,
) -> Judgement {
    let mut load_buffering = Vec::new();
    let mut weakest: Option<CheckResult> = None;
    for test in tests {
        let Ran {
            outcome,
            is_timed_out,
            crash,
        } = run(runner, test, number, variables, |event| {
            let places = event["load_buffering"].as_array();
            let places = places.into_iter().flatten().filter_map(Value::as_str);
            load_buffering.extend(places.map(str::to_owned));
        });
        if is_timed_out {
            let why = format!("no end after {:.0} s", outcome.time.as_secs_f64());
            return Judgement::TimedOut { test, why };
        }
        match outcome.verdict {
            TestVerdict::Passed => {}
            // A search that a change makes longer is cut by its limits, and has noticed nothing.
            TestVerdict::Failed if outcome.is_missing_guarantees() => {}
            TestVerdict::Failed => {
                return Judgement::Killed {
                    test,
                    headline: headline(&outcome),
                };
            }
            TestVerdict::TooLong => {
                return Judgement::TimedOut {
                    test,
                    why: headline(&outcome),
                };
            }
            _ => {
                if let Some(headline) = crash {
                    return Judgement::Killed { test, headline };
                }
                return Judgement::Undecided {
                    test,
                    why: headline(&outcome),
                };
            }
        }
        let results = weakest.iter().chain(outcome.weakest());
        weakest = results.min_by_key(|it| it.strength()).cloned();
    }
    load_buffering.sort();
    load_buffering.dedup();
    let guarantee = weakest.map_or_else(String::new, |it| it.guarantee());
    Judgement::Survived {
        is_exhaustive: guarantee == EXHAUSTIVE,
        guarantee,
        load_buffering,
    }
}

/// The guarantee of a check that has run every behaviour.
const EXHAUSTIVE: &str = "exhaustive";

/// A test that has run.
struct Ran {
    outcome: TestOutcome,
    is_timed_out: bool,
    /// The signal that a mistake of the program has raised, as text.
    crash: Option<String>,
}

/// Time limit of a check, unless the user sets another one: a search may have none of its own.
const BUDGET: (&str, &str) = ("RADDLE_MAX_TIME", "60s");

fn run(
    runner: &Runner<'_>,
    test: usize,
    number: usize,
    given: &[(&str, &OsStr)],
    mut see: impl FnMut(&Value),
) -> Ran {
    // Schedules of changed programs are not those of the user's.
    let data = runner.directory.join(format!("{number}.data"));
    let (limit, budget) = BUDGET;
    let is_given = |(name, _): &(&str, _)| *name == limit;
    let is_limited = runner.environment.iter().any(is_given) || std::env::var_os(limit).is_some();
    let mut variables: Vec<(&str, &OsStr)> = vec![
        ("RADDLE_DIR", data.as_os_str()),
        // A change that a test notices needs no story.
        ("RADDLE_SHORTEN", "0".as_ref()),
        ("RUST_BACKTRACE", "0".as_ref()),
    ];
    variables.extend(given);
    if !is_limited {
        variables.push((limit, budget.as_ref()));
    }
    let mut outcome = TestOutcome::default();
    let finished = runner.run_one(test, number, &variables, |event| {
        outcome.record(&event);
        if event["event"] == "mutants" {
            see(&event);
        }
    });
    let is_timed_out = finished.is_timed_out;
    let crash = crash(&finished);
    outcome.finish(finished);
    // Remaining files are removed with the directory.
    let _ = std::fs::remove_dir_all(data);
    Ran {
        outcome,
        is_timed_out,
        crash,
    }
}

/// Returns the signal that a process has raised by what it did.
#[cfg(unix)]
fn crash(finished: &FinishedProcess) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;

    use nix::sys::signal::Signal;

    let status = finished.status.as_ref().ok()?;
    let signal = Signal::try_from(status.signal()?).ok()?;
    let own = [
        Signal::SIGABRT,
        Signal::SIGBUS,
        Signal::SIGFPE,
        Signal::SIGILL,
        Signal::SIGSEGV,
    ];
    let is_own = own.contains(&signal);
    is_own.then(|| format!("crash ({})", signal.as_str()))
}

#[cfg(not(unix))]
fn crash(_: &FinishedProcess) -> Option<String> {
    None
}

/// True when every check of a test has run every behaviour.
fn is_exhaustive(outcome: &TestOutcome) -> bool {
    let weakest = outcome.weakest();
    weakest.is_some_and(|result| result.guarantee() == EXHAUSTIVE)
}

fn headline(outcome: &TestOutcome) -> String {
    let failure = outcome.failures.first().map(|it| it.headline().to_owned());
    failure
        .or_else(|| outcome.ending.clone())
        .unwrap_or_else(|| {
            let last = outcome
                .output
                .lines()
                .rev()
                .find(|line| line.contains("panicked"));
            last.unwrap_or(outcome.verdict.word()).to_owned()
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_read_and_written() {
        let event = json!({
            "mutant": "src/a b.rs:7:9 compare-exchange failure=Relaxed",
            "operation": "compare-exchange AcqRel, Acquire",
        });
        let mutant = Mutant::from_event(&event).unwrap();
        assert_eq!(mutant.variable(), event["mutant"].as_str().unwrap());
        let text = "src/a b.rs:7:9: compare-exchange AcqRel, Acquire -> failure=Relaxed";
        assert_eq!(mutant.to_string(), text);
        assert_eq!(Mutant::from_event(&json!({ "mutant": "x" })), None);
    }
}
