//! What the steps of a story could have seen instead, and what to type to run it so.

use std::panic::Location;
use std::sync::Arc;

use raddle_engine::alternatives::{self, Alternative, Budget, Candidate};
use raddle_engine::strategy::Replay;
use raddle_engine::{Execution, Exploration, Operation, Schedule};
use raddle_report::{Failure, FailureKind, Receive, Source, Trace};

use crate::explain::fatal_report::FatalReport;
use crate::persist::saved;
use crate::runtime::watchdog;
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;

/// Longer executions are not looked at.
const MAX_EVENTS: usize = 2_000;
/// Maximum work for one story, in steps of about a nanosecond.
const WORK: u64 = 100_000_000;
/// Appended to a source that may be impossible.
const UNDECIDED: &str = " (undecided: the analysis gave up, a run tells)";

/// Finds out what the steps of the failure could have seen instead. Its schedule is run once more,
/// because only an execution knows.
pub(crate) fn fill(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    fatal: &Arc<FatalReport>,
    failure: &mut Failure,
) {
    let steps = failure.trace.steps.len();
    if !is_told(failure.kind) || steps > MAX_EVENTS || !failure.receives.is_empty() {
        return;
    }
    let replay = Box::new(Replay::new(failure.schedule.clone()));
    let exploration = Exploration::new(replay, checker.limits());
    let context = checker.context(exploration, fatal.clone());
    context.name_variables(true);
    let watch = watchdog::watch(&context, checker.watchdog);
    run_execution(&context, body, place);
    context.with_exploration(|exploration| _ = exploration.finish());
    drop(watch);
    failure.receives = context.with_execution(|execution, _| {
        // The schedule ends with the failure, the execution need not.
        let is_same = Schedule::of(execution)
            .steps
            .starts_with(&failure.schedule.steps);
        match is_same {
            true => told(execution, &context, checker, failure),
            false => Vec::new(),
        }
    });
    context.clean_up();
}

/// Whether the story of such a failure is that of one execution, which can be run again.
fn is_told(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Panic
            | FailureKind::Assertion
            | FailureKind::Crash
            | FailureKind::Exit
            | FailureKind::Uncontrolled
            | FailureKind::OutOfBounds
            | FailureKind::UseAfterFree
            | FailureKind::Deadlock
            | FailureKind::LostWakeup
            | FailureKind::Livelock
            | FailureKind::ThreadOutlives
            | FailureKind::DataRace
    )
}

fn told(
    execution: &Execution,
    context: &Context,
    checker: &Checker,
    failure: &Failure,
) -> Vec<Receive> {
    let whole = Trace::of(execution, context);
    let steps: Vec<usize> = failure.trace.steps_of_events().collect();
    // The step that tells of the event at a position, if one does.
    let step_of = |position: usize| {
        let step = *steps.get(position)?;
        let (told, event) = (&failure.trace.steps[step], &whole.steps[position]);
        let is_same = (told.thread, &told.what) == (event.thread, &event.what);
        is_same.then_some(step)
    };
    let check = failure.schedule.check.as_ref();
    let budget = Budget {
        work: WORK,
        ..Budget::default()
    };
    let mut receives = Vec::new();
    for receive in alternatives::of_some(execution, checker.memory.model(), budget) {
        let position = receive.position;
        let (alternatives, undecided) = (&receive.alternatives, &receive.undecided);
        let has_others = alternatives.len() + undecided.len() > 1;
        let Some(step) = step_of(position).filter(|_| has_others) else {
            continue;
        };
        let seen = alternatives::seen(&execution.events[position]);
        let source = |&candidate: &Candidate| {
            let choice = alternatives::choice(execution, position, candidate);
            let alternative = choice.map(|choice| Alternative::new().with(choice).to_string());
            let seen_at = candidate.source.and_then(|id| {
                let mut all = execution.events.iter();
                all.position(|event| event.id == id)
            });
            let operation = &execution.events[position].operation;
            Source {
                what: words(operation, candidate, seen_at.map(|at| (at, &whole))),
                step: seen_at.and_then(step_of),
                is_seen: seen == Some(candidate),
                command: alternative.map(|alternative| {
                    saved::alternative_command(checker.program, &alternative, check)
                }),
            }
        };
        receives.push(Receive {
            step,
            sources: alternatives
                .iter()
                .map(source)
                .chain(undecided.iter().map(|candidate| {
                    let mut source = source(candidate);
                    source.what += UNDECIDED;
                    source
                }))
                .collect(),
        });
    }
    receives
}

/// What is seen, in words.
fn words(operation: &Operation, candidate: Candidate, source: Option<(usize, &Trace)>) -> String {
    let outcome = candidate.outcome;
    let what = match (source, operation) {
        (Some((step, trace)), _) => {
            let step = &trace.steps[step];
            format!("{} by {}", step.what, trace.threads[step.thread].title())
        }
        (None, Operation::Choose { .. }) => return format!("alternative {}", outcome.number()),
        (None, Operation::Chance { .. }) if !outcome.is_yes() => {
            return "nothing unexpected".to_owned();
        }
        (None, Operation::Chance { .. }) => return "a spurious wake-up".to_owned(),
        (None, Operation::Receive { .. }) => "no message".to_owned(),
        (None, Operation::Call { .. }) => "nobody before it".to_owned(),
        (None, Operation::IsFinished { .. }) => "that it has not ended".to_owned(),
        (None, _) => "the initial value".to_owned(),
    };
    match operation {
        _ if outcome.is_first() => what,
        Operation::Update { .. } => format!("{what}, and fails spuriously"),
        _ => format!("{what}, with outcome {}", outcome.number()),
    }
}
