//! Failures, built from findings of the engine.

use raddle_engine::check::Finding;
use raddle_engine::check::panic::Manner;
use raddle_engine::{Execution, Record, Schedule};

use crate::data::failure::{Failure, FailureKind};
use crate::data::trace::Trace;
use crate::words::finding::context::FindingContext;
use crate::words::finding::kind_of_race::race_kind;
use crate::words::finding::{marks, waits};
use crate::words::names::Names;
use crate::words::things::Things;

/// Maximum number of events in the trace of an execution that is too long. A page and a line of
/// JSON with all of them would take hundreds of megabytes.
const MAX_EVENTS: usize = 1_000;
/// Maximum number of events of an execution that is shown from its beginning. To describe a million takes seconds, after
/// the time of the check may be over.
const MAX_WHOLE: usize = 100_000;
/// Number of events before the failure in the trace of a longer execution; a page has room for 20,000.
const MAX_END: usize = 10_000;
/// Maximum number of steps in the schedule of an execution that had not ended when the time was over: no
/// time is left to write tens of millions.
const MAX_STEPS: usize = 100_000;

impl Failure {
    /// Builds the failure of a finding.
    pub fn new(finding: &Finding, execution: &Execution, names: &dyn Names) -> Self {
        let length = execution.events.len();
        let end = finding.after().unwrap_or(length).min(length);
        let shown = match finding {
            Finding::TooManyEvents { .. } | Finding::OutOfTime { .. } => MAX_EVENTS,
            _ if end > MAX_WHOLE => MAX_END,
            _ => end,
        };
        let left_out = end.saturating_sub(shown);
        let mut trace = Trace::since(left_out, execution, names);
        match finding {
            Finding::Panic(panic) => trace.end_with_panic(panic, left_out),
            Finding::DataRace(race) => trace.end_with_race(race, left_out, execution, names),
            Finding::MemoryError(error) => trace.end_with_error(error, left_out, names),
            _ => {}
        }
        trace.fold();
        let things = Things::since(left_out, execution, names);
        let context = FindingContext {
            execution,
            trace: &trace,
            things: &things,
            names,
        };
        let marks = marks::of(finding, &context);
        let waits = waits::of(finding, &context);
        let message = context.message(finding);
        let race = match finding {
            Finding::KindOfRace { race, .. } => Some(context.race(race)),
            _ => None,
        };
        let schedule = match finding {
            Finding::OutOfTime { .. } => Schedule::of_first(MAX_STEPS, execution),
            _ => Schedule::of(execution),
        };
        let cut = (left_out > 0).then(|| format!("only its last {shown} events are shown"));
        Failure {
            marks,
            waits,
            race,
            notes: cut.into_iter().collect(),
            ..Failure::bare(kind(finding), message, trace, schedule, 0)
        }
    }
}

fn kind(finding: &Finding) -> FailureKind {
    match finding {
        Finding::Panic(panic) => match panic.manner {
            Manner::Panic => FailureKind::Panic,
            Manner::Assertion => FailureKind::Assertion,
            Manner::Crash => FailureKind::Crash,
            Manner::Memory => FailureKind::UseAfterFree,
            Manner::FreedTwice => FailureKind::DoubleFree,
            Manner::Uninitialised => FailureKind::Uninitialised,
            Manner::Outside => FailureKind::OutOfBounds,
            Manner::Exit => FailureKind::Exit,
            Manner::Uncontrolled => FailureKind::Uncontrolled,
        },
        Finding::Deadlock(_) => FailureKind::Deadlock,
        Finding::LostWakeup { .. } => FailureKind::LostWakeup,
        Finding::Livelock { .. } => FailureKind::Livelock,
        Finding::ThreadOutlives(_) => FailureKind::ThreadOutlives,
        Finding::LockOrder(_) => FailureKind::LockOrder,
        Finding::TooManyEvents { .. } | Finding::OutOfTime { .. } => FailureKind::TooLong,
        Finding::StackOverflow(_) => FailureKind::Limit,
        Finding::Leak(_) => FailureKind::Leak,
        Finding::Hang { .. } => FailureKind::Hang,
        Finding::DataRace(_) => FailureKind::DataRace,
        Finding::PredictedRace { .. } => FailureKind::UnconfirmedRace,
        Finding::KindOfRace {
            values: Some(_),
            race,
        } => race_kind(race.kind),
        Finding::KindOfRace { values: None, .. } => FailureKind::UnconfirmedRace,
        Finding::MemoryError(_) => FailureKind::UseAfterFree,
        Finding::Crash(_) => FailureKind::Crash,
        Finding::ForeignThread(_) => FailureKind::Uncontrolled,
        Finding::IgnoredValue(_) => FailureKind::IgnoredValue,
        Finding::Property(_) => FailureKind::Property,
        Finding::Nondeterminism(divergence) => match divergence.from {
            Record::EarlierRun | Record::Scheduler | Record::Discarded => {
                FailureKind::Nondeterminism
            }
            Record::Schedule => FailureKind::ScheduleMismatch,
            Record::Alternative => FailureKind::Impossible,
        },
    }
}
