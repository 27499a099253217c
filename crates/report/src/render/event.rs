//! Progress and results of a running check as lines of JSON, for other programs.

use serde::Serialize;

use crate::data::alternatives::ListedAlternatives;
use crate::data::branches::Branches;
use crate::data::estimate::Estimate;
use crate::data::failure::Failure;
use crate::data::guarantee::Guarantee;
use crate::data::reached::Reached;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::render::json::to_json;

/// An event of a check, written as one line.
#[derive(Clone, Debug, Serialize)]
pub struct Event<'a> {
    /// Name of the test program.
    pub binary: String,
    /// Name of the test, or of the check.
    pub test: &'a str,
    /// Number of the check among those with this name, from 1.
    pub check: u32,
    /// The event itself.
    #[serde(flatten)]
    pub what: Happening<'a>,
}

/// Kinds of events, with their data.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Happening<'a> {
    /// The check begins.
    Started {
        /// Name of its strategy.
        strategy: String,
        /// Seed of its random choices.
        seed: u64,
    },
    /// The check continues.
    Progress(Progress),
    /// A failure was found.
    Failure(FailureStory<'a>),
    /// A warning was found.
    Warning(FailureStory<'a>),
    /// A schedule was replayed.
    Replayed {
        /// Steps of the replayed execution.
        trace: &'a Trace,
    },
    /// The alternatives of one execution were asked for.
    Alternatives {
        /// The list.
        list: &'a ListedAlternatives,
    },
    /// Changes of operations were asked for.
    Mutants(Mutants),
    /// The requirements that versions of the program are compared by.
    Requirements(Requirements),
    /// The check has ended.
    Finished(Finished),
}

/// The coverage requirements of a check.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Requirements {
    /// Places of requirements.
    pub places: Vec<String>,
    /// Requirements that an execution covered: metric, and indices of one or two places.
    pub covered: Vec<(&'static str, usize, Option<usize>)>,
    /// Requirements that no execution covered and that are estimated to be feasible.
    pub feasible: Vec<(&'static str, usize, Option<usize>)>,
    /// True when the check has run every behaviour.
    pub is_complete: bool,
}

/// What a check found out about changes of its operations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Mutants {
    /// Changes that could be made.
    pub possible: Vec<PossibleMutant>,
    /// Places of changed operations that a cycle of program order and reads-from could use, so that a change may have
    /// an effect on hardware that the memory model does not have.
    pub load_buffering: Vec<String>,
}

/// A change that could be made.
#[derive(Clone, Debug, Serialize)]
pub struct PossibleMutant {
    /// The change as `RADDLE_MUTANT` takes it.
    pub mutant: String,
    /// The operation in the program.
    pub operation: String,
}

/// Progress of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Name of the current phase.
    pub phase: &'static str,
    /// Number of executions so far.
    pub executions: u64,
    /// Estimated total number of classes.
    pub estimate: Option<Estimate>,
    /// Executions per second.
    pub per_second: Option<f64>,
    /// Estimated or maximum number of seconds left.
    pub seconds_left: Option<f64>,
    /// Progress as text.
    pub text: String,
}

/// A failure or a warning, with its story as text.
#[derive(Clone, Debug, Serialize)]
pub struct FailureStory<'a> {
    failure: &'a Failure,
    story: String,
}

impl<'a> From<&'a Failure> for FailureStory<'a> {
    fn from(failure: &'a Failure) -> Self {
        FailureStory {
            failure,
            story: failure.to_string(),
        }
    }
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Finished {
    passed: bool,
    interrupted: bool,
    executions: u64,
    classes: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    classes_are_estimated: bool,
    exhausted: bool,
    guarantee: Guarantee,
    required: Option<Guarantee>,
    estimate: Option<Estimate>,
    strategy: String,
    seed: u64,
    seconds: f64,
    failures: usize,
    warnings: usize,
    summary: String,
    advice: Option<String>,
    resume: Option<String>,
    too_long: u64,
    left_polling: u64,
    modelled: Vec<String>,
    reached: Vec<Reached>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Box<BranchList>>,
}

/// The branches that interleaving decides, as data and as text.
#[derive(Clone, Debug, Serialize)]
pub struct BranchList {
    list: Branches,
    text: String,
}

impl Finished {
    /// Extracts the result from a report. `interrupted` is true when the user stopped the check.
    pub fn new(report: &Report, interrupted: bool) -> Self {
        Finished {
            passed: report.failures.is_empty(),
            interrupted,
            executions: report.executions,
            classes: report.classes(),
            classes_are_estimated: report.classes_are_estimated(),
            exhausted: report.exhausted,
            guarantee: report.guarantee(),
            required: report.required(),
            estimate: report.estimate(),
            strategy: report.search.strategy.clone(),
            seed: report.search.seed,
            seconds: report.elapsed.as_secs_f64(),
            failures: report.failures.len(),
            warnings: report.warnings.len(),
            summary: report.summary().to_string(),
            advice: report.advice().map(ToString::to_string),
            resume: report.resume.clone(),
            too_long: report.too_long(),
            left_polling: report.left_polling(),
            modelled: report.modelled().to_vec(),
            reached: report.reached().states.clone(),
            branches: (report.branches().is_recorded()).then(|| {
                Box::new(BranchList {
                    list: report.branches().clone(),
                    text: report.branches().to_string(),
                })
            }),
        }
    }
}

impl Event<'_> {
    /// Returns the event as a line of JSON.
    pub fn to_line(&self) -> String {
        to_json(self) + "\n"
    }
}
