//! Searches that several machines share by a queue: the front end, which starts them and waits for them, and the
//! workers, which explore their parts.
//!
//! The checks are in the processes of tests, and have no connection to the queue: this command hands them parts and
//! takes their results over a socket.

pub mod front_end;
pub mod metrics;
pub mod mutants;
mod name;
mod pace;
mod sizing;
mod socket;
mod test_process;
pub mod worker;

use std::fmt;

use raddle_queue::{Results, Run};
use raddle_report::exchange::{FoundFailure, PartResults};

pub use name::SearchName;

/// The variable of a test's process with the path of the socket.
const SOCKET_VARIABLE: &str = "RADDLE_SHARED_SEARCH";

/// Sums of a search: milliseconds of workers in tests, and outside of them.
const WORKED: &str = "worker milliseconds in tests";
const WAITED: &str = "worker milliseconds outside tests";

/// A reason why searches cannot be shared.
#[derive(Debug)]
pub enum Problem {
    /// The queue cannot be used.
    Queue(raddle_queue::Error),
    /// Another front end waits for the run.
    AnotherFrontEnd,
    /// The queue has a run with other settings.
    AnotherRun { difference: String },
    /// The queue has a search of another build or with other settings.
    AnotherSearch { test: String, difference: String },
    /// The search of a check cannot be shared.
    Refused { check: String, reason: String },
    /// A part of a search could not be explored.
    Broken { test: String, problem: String },
    /// The queue has the search that is to be added to it.
    AlreadyThere { test: String },
    /// A check before that of a part has not ended in the queue, which has lost results that the front end has.
    NotReady { test: String, earlier: String },
    /// A search cannot be moved out of the queue.
    NotExported { test: String, reason: String },
    /// No part was finished before the time of its search was over.
    NothingInTime { test: String },
    /// A worker has no test of this name.
    NoSuchTest { test: String },
    /// A worker has waited in vain.
    NoRun,
    /// A file for monitors cannot be written.
    NotWritten { path: String, problem: String },
    /// The process of a test cannot be used.
    Process { test: String, problem: String },
}

impl From<raddle_queue::Error> for Problem {
    fn from(error: raddle_queue::Error) -> Self {
        Problem::Queue(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(error) => error.fmt(f),
            Self::AnotherFrontEnd => f.write_str(
                "another `cargo raddle test --queue` waits for the run in this queue\n  \
                 help: give this one another place, such as redis://HOST/0?prefix=NAME or \
                 postgres://HOST/DATABASE?schema=NAME",
            ),
            Self::AnotherRun { difference } => write!(
                f,
                "the queue has an unfinished run with other settings: {difference}\n  \
                 help: resume it with its settings, or remove it with `cargo raddle queue clear`",
            ),
            Self::AnotherSearch { test, difference } => write!(
                f,
                "the queue has a search of {test} that is not this one: {difference}\n  \
                 help: {}; remove an old run with `cargo raddle queue clear`",
                needed(difference)
            ),
            Self::Refused { check, reason } => {
                write!(f, "the search of {check} cannot be shared: {reason}")
            }
            Self::Broken { test, problem } => write!(
                f,
                "a part of the search of {test} could not be explored: {problem}\n  \
                 help: run the test without a queue to see the reason, then remove the run with `cargo raddle \
                 queue clear`",
            ),
            Self::AlreadyThere { test } => write!(
                f,
                "the queue has a search of {test}, and there is a checkpoint of it here\n  \
                 help: resume the one in the queue without --resume, or remove it with `cargo raddle queue clear`",
            ),
            Self::NotReady { test, earlier } => write!(
                f,
                "the search of {test} cannot be explored, because that of {earlier} has not ended"
            ),
            Self::NotExported { test, reason } => {
                write!(f, "the search of {test} cannot be exported: {reason}")
            }
            Self::NothingInTime { test } => write!(
                f,
                "nothing of {test} was finished in its time\n  \
                 help: raise `max_time` or --budget, or start workers first: `cargo raddle work`",
            ),
            Self::NoSuchTest { test } => write!(
                f,
                "the run in the queue has {test}, which is not here\n  \
                 help: give `cargo raddle work` the same flags of cargo as the front end, and --native or --program \
                 FILE for native tests or a native program",
            ),
            Self::NoRun => f.write_str(
                "the queue has no run\n  help: start one with `cargo raddle test --queue ADDRESS`",
            ),
            Self::NotWritten { path, problem } => write!(f, "{path} cannot be written: {problem}"),
            Self::Process { test, problem } => write!(f, "the process of {test}: {problem}"),
        }
    }
}

/// Returns what must be the same where this difference is found.
fn needed(difference: &str) -> &'static str {
    let name = difference.split('`').nth(1).unwrap_or_default();
    if name == "program" || name.starts_with("library ") {
        "every machine needs the same build: copy the directory `target`, or use one container image"
    } else if name.starts_with(worker::ARGUMENT) {
        "resume a run with the same arguments of the program"
    } else {
        "every machine needs the same build and the same variables RADDLE_..., and a run is resumed with the same command"
    }
}

/// Returns the run of this command with these variables for tests.
pub fn run_of(environment: Vec<(String, String)>) -> Run {
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        environment,
    }
}

/// Refuses a run of another version or with other variables.
fn compare_runs(there: &Run, here: &Run) -> Result<(), Problem> {
    let with_version = |run: &Run| {
        let version = ("version of raddle".to_owned(), run.version.clone());
        let mut all = vec![version];
        all.extend(run.environment.iter().cloned());
        all
    };
    let difference = raddle_queue::difference(&with_version(there), &with_version(here));
    match difference {
        Some(difference) => Err(Problem::AnotherRun { difference }),
        None => Ok(()),
    }
}

/// Refuses a search of another build or with other settings.
fn compare_searches(
    name: &SearchName,
    there: &[(String, String)],
    here: &[(String, String)],
) -> Result<(), Problem> {
    match raddle_queue::difference(there, here) {
        Some(difference) => Err(Problem::AnotherSearch {
            test: name.to_string(),
            difference,
        }),
        None => Ok(()),
    }
}

/// Returns the results of a check as the queue takes them.
fn of_check(results: PartResults) -> Results {
    let finding = |failure: FoundFailure| (failure.headline.clone(), failure.to_text());
    Results {
        sums: results.sums,
        facts: results.facts,
        findings: results.failures.into_iter().map(finding).collect(),
        items: results.items,
        next: results.next,
        classes: results.classes,
        is_over: results.is_over,
    }
}
