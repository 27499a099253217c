//! What checks do, for other programs: each of these is a line of JSON.

use serde::Serialize;

use crate::data::estimate::Estimate;
use crate::data::failure::Failure;
use crate::data::guarantee::Guarantee;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::render::json::to_json;

/// Something that happens in a check.
#[derive(Clone, Debug, Serialize)]
pub struct Event<'a> {
    /// The program that runs it.
    pub binary: String,
    /// The name of the test, or of the check.
    pub test: &'a str,
    /// Which check of that name, counted from 1.
    pub check: u32,
    /// What happens.
    #[serde(flatten)]
    pub what: Happening<'a>,
}

/// What happens in a check.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Happening<'a> {
    /// It begins.
    Started {
        /// What it runs.
        strategy: String,
        /// Where random choices start.
        seed: u64,
    },
    /// It has come so far.
    Progress(Progress),
    /// Something is wrong.
    Failure(Told<'a>),
    /// Something may go wrong one day.
    Warning(Told<'a>),
    /// A schedule was replayed.
    Replayed {
        /// What happened.
        trace: &'a Trace,
    },
    /// It is over.
    Finished(Finished),
}

/// How far a check is.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Which part of it runs.
    pub phase: &'static str,
    /// How many executions were run.
    pub executions: u64,
    /// How many there are.
    pub estimate: Option<Estimate>,
    /// How many are run in a second.
    pub per_second: Option<f64>,
    /// How many seconds are left, or how many at most.
    pub seconds_left: Option<f64>,
    /// All of it in words.
    pub text: String,
}

/// A failure or a warning, with its story in words.
#[derive(Clone, Debug, Serialize)]
pub struct Told<'a> {
    failure: &'a Failure,
    story: String,
}

impl<'a> From<&'a Failure> for Told<'a> {
    fn from(failure: &'a Failure) -> Self {
        Told {
            failure,
            story: failure.to_string(),
        }
    }
}

/// How a check ended.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    passed: bool,
    interrupted: bool,
    executions: u64,
    classes: u64,
    exhausted: bool,
    guarantee: Guarantee,
    estimate: Option<Estimate>,
    strategy: String,
    seed: u64,
    seconds: f64,
    failures: usize,
    warnings: usize,
    summary: String,
    advice: Option<String>,
    resume: Option<String>,
}

impl Finished {
    /// What a report says of it, and whether somebody wanted it to end.
    pub fn new(report: &Report, interrupted: bool) -> Self {
        Finished {
            passed: report.failures.is_empty(),
            interrupted,
            executions: report.executions,
            classes: report.classes(),
            exhausted: report.exhausted,
            guarantee: report.guarantee(),
            estimate: report.estimate(),
            strategy: report.search.strategy.clone(),
            seed: report.search.seed,
            seconds: report.elapsed.as_secs_f64(),
            failures: report.failures.len(),
            warnings: report.warnings.len(),
            summary: report.summary().to_string(),
            advice: report.advice().map(ToString::to_string),
            resume: report.resume.clone(),
        }
    }
}

impl Event<'_> {
    /// As a line.
    pub fn to_line(&self) -> String {
        to_json(self) + "\n"
    }
}
