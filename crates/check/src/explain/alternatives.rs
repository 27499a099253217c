//! The other sources that the steps of a failing execution could have had, with the command that
//! runs each of them.

use std::panic::Location;
use std::sync::Arc;

use raddle_engine::alternatives::{self, Alternative, Budget, Candidate};
use raddle_engine::memory::happens_before::EventOrder;
use raddle_engine::strategy::{Dispatcher, Replay};
use raddle_engine::{Execution, Exploration, Operation, Schedule};
use raddle_report::{
    Failure, FailureKind, ListedAlternatives, ListedReceive, ListedSource, ListedStep, Receive,
    Source, Trace,
};

use crate::explain::fatal_report::FatalReport;
use crate::persist::saved;
use crate::program::Dialect;
use crate::runtime::deadline::Deadline;
use crate::runtime::watchdog;
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;

/// Maximum events of an execution whose alternatives are listed.
const MAX_EVENTS: usize = 2_000;
/// Maximum work for one failure, in steps of about a nanosecond.
const WORK: u64 = 100_000_000;
/// Appended to a source that may be impossible.
const UNDECIDED: &str = " (undecided: the analysis gave up, a run tells)";

/// Adds the alternatives of each step to the failure. Its schedule is replayed, because
/// alternatives are computed from an execution.
pub(crate) fn fill(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    fatal: &Arc<FatalReport>,
    failure: &mut Failure,
    deadline: Deadline,
) {
    let steps = failure.trace.steps.len();
    // Threads that the check does not control would run again.
    let is_foreign =
        failure.kind == FailureKind::Uncontrolled && checker.program.dialect() == Dialect::Library;
    if is_foreign
        || !has_alternatives(failure.kind)
        || steps > MAX_EVENTS
        || !failure.receives.is_empty()
    {
        return;
    }
    let replay = Dispatcher::other(Replay::new(failure.schedule.clone()));
    let exploration = Exploration::new(replay, checker.limits());
    let context = checker.context(exploration, fatal.clone());
    context.name_variables(true);
    let watch = watchdog::watch(&context, checker.watchdog, deadline);
    run_execution(&context, body, place);
    context.with_exploration(|exploration| _ = exploration.finish());
    drop(watch);
    failure.receives = context.with_execution(|execution, _| {
        // The schedule ends with the failure; the execution may continue.
        let is_same = Schedule::of(execution)
            .steps
            .starts_with(&failure.schedule.steps);
        match is_same {
            true => receives(execution, &context, checker, failure),
            false => Vec::new(),
        }
    });
    context.clean_up();
}

/// Lists the alternatives of an execution that has stopped. `target` is the point of a write whose steps are listed too.
pub(crate) fn list(
    execution: &Execution,
    context: &Context,
    checker: &Checker,
    target: Option<&str>,
) -> ListedAlternatives {
    let whole = Trace::of(execution, context);
    let listed = |position: usize| {
        let step = &whole.steps[position];
        ListedStep {
            thread: whole.threads[step.thread].title().to_owned(),
            what: step.what.clone(),
            place: step.place.clone(),
        }
    };
    let events = &execution.events;
    let at = |id| events.iter().position(|event| event.id == id);
    let receive = |receive: alternatives::Receive| {
        let position = receive.position;
        let seen = alternatives::seen(&events[position]);
        let source = |candidate: &Candidate, is_undecided| {
            let choice = alternatives::choice(execution, position, *candidate);
            let taken = candidate.source.and_then(at);
            let source = taken.map(|taken| (taken, &whole));
            ListedSource {
                what: words(&events[position].operation, *candidate, source),
                place: taken.and_then(|taken| whole.steps[taken].place.clone()),
                is_seen: seen == Some(*candidate),
                is_undecided,
                alternative: choice.map(|choice| Alternative::new().with(choice).to_string()),
            }
        };
        let alternatives = receive.alternatives.iter().map(|one| source(one, false));
        let undecided = receive.undecided.iter().map(|one| source(one, true));
        ListedReceive {
            sources: alternatives.chain(undecided).collect(),
            step: listed(position),
        }
    };
    let budget = Budget {
        work: WORK,
        ..Budget::default()
    };
    let mut found = alternatives::of_some(execution, checker.memory.model(), budget);
    found.sort_by_key(|receive| receive.position);
    let is_read = |id| {
        let mut reads = events
            .iter()
            .filter(|event| !matches!(event.operation, Operation::Store { .. }));
        reads.any(|event| event.source == Some(id))
    };
    let stores = (0..events.len()).filter(|&position| {
        let event = &events[position];
        matches!(event.operation, Operation::Store { .. }) && !is_read(event.id)
    });
    let steps = target.and_then(|target| {
        let point = |position: usize| {
            let point = alternatives::send(execution, position)?;
            Some(format!(
                "{} {} {}",
                point.thread, point.thing, point.occurrence
            ))
        };
        let target =
            (0..events.len()).find(|&position| point(position).as_deref() == Some(target))?;
        let order = EventOrder::of_causes(execution);
        let before = (0..events.len()).filter(|&position| {
            position == target || order.has(events[position].id, events[target].id)
        });
        Some(before.map(listed).collect())
    });
    ListedAlternatives {
        is_cut: events.len() > MAX_EVENTS,
        receives: found.into_iter().map(receive).collect(),
        unread: stores.map(listed).collect(),
        steps,
    }
}

/// True when one execution shows a failure of this kind and can be replayed.
fn has_alternatives(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Panic
            | FailureKind::Assertion
            | FailureKind::Crash
            | FailureKind::Exit
            | FailureKind::Uncontrolled
            | FailureKind::OutOfBounds
            | FailureKind::UseAfterFree
            | FailureKind::DoubleFree
            | FailureKind::Uninitialised
            | FailureKind::Deadlock
            | FailureKind::LostWakeup
            | FailureKind::Livelock
            | FailureKind::ThreadOutlives
            | FailureKind::DataRace
            | FailureKind::Property
    )
}

fn receives(
    execution: &Execution,
    context: &Context,
    checker: &Checker,
    failure: &Failure,
) -> Vec<Receive> {
    let whole = Trace::of(execution, context);
    let steps: Vec<usize> = failure.trace.steps_of_events().collect();
    // Returns the step that shows the event at a position, if any.
    let step_of = |position: usize| {
        let step = *steps.get(position)?;
        let (shown, event) = (&failure.trace.steps[step], &whole.steps[position]);
        let is_same = (shown.thread, &shown.what) == (event.thread, &event.what);
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

/// Describes a candidate source.
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
        (None, Operation::Call { .. }) => "no earlier call".to_owned(),
        (None, Operation::IsFinished { .. }) => "that it has not ended".to_owned(),
        (None, _) => "the initial value".to_owned(),
    };
    match operation {
        _ if outcome.is_first() => what,
        Operation::Update { .. } => format!("{what}, and fails spuriously"),
        _ => format!("{what}, with outcome {}", outcome.number()),
    }
}
