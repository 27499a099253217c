//! What checks do, as lines of JSON for another program, such as `cargo raddle`: the file that
//! `RADDLE_EVENTS` names gets a line when a check starts, now and then while it runs, for each failure,
//! and when it is over. Several processes may write to one file, each a line at a time.
//!
//! Whoever reads this also wants to know what was found when the process is asked to end: then checks
//! stop and report as if their budget were spent.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use raddle_engine::{CheckName, Estimate};
use raddle_report::{Failure, Report, Trace};
use serde_json::{Map, Value, json};

use crate::checker::Checker;
use crate::interrupts::{self, Listening};
use crate::saved;

/// Where events go; nowhere if nobody wants them or the file cannot be written.
fn file() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("RADDLE_EVENTS").filter(|path| !path.is_empty())?;
        let opened = File::options().append(true).create(true).open(&path);
        opened
            .inspect_err(|error| {
                let path = path.display();
                eprintln!("raddle: RADDLE_EVENTS: {path} cannot be written: {error}");
            })
            .ok()
    };
    FILE.get_or_init(open).as_ref()
}

/// Whether anybody wants to know.
pub(crate) fn are_wanted() -> bool {
    file().is_some()
}

/// A check that is told of, if anybody wants to know. While it exists, the check stops early if the
/// process is asked to end.
pub(crate) struct Told<'a> {
    check: Option<&'a CheckName>,
    _listening: Option<Listening>,
}

impl<'a> Told<'a> {
    pub(crate) fn start(checker: &Checker, check: Option<&'a CheckName>) -> Self {
        let check = check.filter(|_| are_wanted());
        let told = Told {
            check,
            _listening: are_wanted().then(interrupts::listen),
        };
        if let Some(check) = check {
            let more = json!({ "strategy": checker.strategy.to_string(), "seed": checker.seed });
            write("started", check, more);
        }
        told
    }

    pub(crate) fn finish(self, report: &Report) {
        if let Some(check) = self.check {
            finished(check, report);
        }
    }
}

/// Whether checks are to stop early.
#[inline]
pub(crate) fn is_interrupted() -> bool {
    interrupts::came() && are_wanted()
}

fn write(event: &str, check: &CheckName, more: Value) {
    let Some(mut file) = file() else { return };
    let mut line = Map::new();
    line.insert("event".to_owned(), event.into());
    line.insert("binary".to_owned(), saved::program_name().into());
    line.insert("test".to_owned(), check.test.clone().into());
    line.insert("check".to_owned(), check.number.into());
    if let Value::Object(more) = more {
        line.extend(more);
    }
    let line = format!("{}\n", Value::Object(line));
    // Whether this works makes no difference to the check.
    let _ = file.write_all(line.as_bytes());
}

/// How far a check is.
pub(crate) struct Progress {
    pub(crate) phase: &'static str,
    pub(crate) executions: u64,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) per_second: Option<f64>,
    pub(crate) left: Option<Duration>,
    /// All of it in words.
    pub(crate) text: String,
}

pub(crate) fn progress(check: &CheckName, progress: &Progress) {
    let estimate = progress.estimate.map(|estimate| {
        json!({ "classes": estimate.classes, "low": estimate.low, "high": estimate.high })
    });
    let more = json!({
        "phase": progress.phase,
        "executions": progress.executions,
        "estimate": estimate,
        "per_second": progress.per_second,
        "seconds_left": progress.left.map(|left| left.as_secs_f64()),
        "text": progress.text,
    });
    write("progress", check, more);
}

/// A failure, with its story in words.
pub(crate) fn failure(check: &CheckName, failure: &Failure) {
    if are_wanted() {
        write("failure", check, told(failure));
    }
}

fn told(failure: &Failure) -> Value {
    json!({ "failure": failure, "story": failure.to_string() })
}

/// What happened in a replay, whether it fails or not.
pub(crate) fn replayed(check: &CheckName, trace: &Trace) {
    write("replayed", check, json!({ "trace": trace }));
}

fn finished(check: &CheckName, report: &Report) {
    for found in &report.failures {
        failure(check, found);
    }
    for warning in &report.warnings {
        write("warning", check, told(warning));
    }
    let more = json!({
        "passed": report.failures.is_empty(),
        "interrupted": is_interrupted(),
        "executions": report.executions,
        "classes": report.classes(),
        "exhausted": report.exhausted,
        "guarantee": report.guarantee(),
        "estimate": report.estimate(),
        "strategy": report.search.strategy,
        "seed": report.search.seed,
        "seconds": report.elapsed.as_secs_f64(),
        "failures": report.failures.len(),
        "warnings": report.warnings.len(),
        "summary": report.summary().to_string(),
        "advice": report.advice().map(ToString::to_string),
        "resume": report.resume,
    });
    write("finished", check, more);
}
