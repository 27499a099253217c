//! Traces, built from executions.

use std::collections::HashMap;

use raddle_engine::check::held;
use raddle_engine::check::memory_error::MemoryError;
use raddle_engine::check::notified::{self, Notification};
use raddle_engine::check::panic::{Manner, Panic};
use raddle_engine::check::race::DataRace;
use raddle_engine::memory::races::Access;
use raddle_engine::object::{Call, channel, fair};
use raddle_engine::{Event, EventId, Execution, Operation, Schedule, SiteId, ThreadId};

use crate::data::effect::Effect;
use crate::data::insight::RecordedExecution;
use crate::data::place::{CodePlace, Place};
use crate::data::trace::{
    CellAccess, NOTHING_UNEXPECTED, Trace, TraceSpan, TraceStep, TraceThread,
};
use crate::words::names::Names;
use crate::words::things::{Things, access_verb, title};

impl Trace {
    /// Builds the trace of a finished execution.
    pub fn of(execution: &Execution, names: &dyn Names) -> Self {
        let mut trace = Trace::since(0, execution, names);
        trace.fold();
        trace
    }

    /// Builds the trace of the events from index `first` on, without folds.
    pub(crate) fn since(first: usize, execution: &Execution, names: &dyn Names) -> Self {
        let things = Things::since(first, execution, names);
        let shown = execution.events[first..].iter().map(|event| event.id);
        let positions = shown.zip(first..);
        let positions: HashMap<EventId, usize> = positions.collect();
        let step_of = |position: usize| position.checked_sub(first);
        let source = |event: &Event| {
            let position = positions.get(&cause(event, execution)?)?;
            step_of(*position)
        };
        let mut steps: Vec<TraceStep> = execution.events[first..]
            .iter()
            .map(|event| TraceStep {
                thing: things.number(&event.operation),
                source: source(event),
                effect: Effect::of(event),
                ordering: things.ordering(event, names),
                value: things.value_after(event),
                ..TraceStep::new(
                    event.id.thread,
                    things.describe(event, execution),
                    names.place(event.site),
                )
            })
            .collect();
        for Notification { position, reached } in notified::all(execution) {
            let Some(step) = step_of(position) else {
                continue;
            };
            let names: Vec<_> = reached
                .iter()
                .map(|&thread| title(execution, thread))
                .collect();
            let woken = match names.is_empty() {
                true => "no thread waits".to_owned(),
                false => format!("wakes {}", names.join(", ")),
            };
            let what = &mut steps[step].what;
            *what = format!("{what} ({woken})");
        }
        for (thread, pending) in execution.pending.iter().enumerate() {
            if let Some((operation, site)) = pending {
                let request = polled(execution, ThreadId::new(thread), operation, *site);
                if let Some(step) = request.and_then(step_of) {
                    steps[step].what = NOTHING_UNEXPECTED.to_owned();
                }
                let what = things.describe_pending(operation, execution);
                steps.push(TraceStep {
                    waits: true,
                    thing: things.number(operation),
                    ..TraceStep::new(ThreadId::new(thread), what, names.place(*site))
                });
            }
        }
        let spawns = execution.events.iter();
        let spawns = spawns.filter(|event| matches!(event.operation, Operation::Spawn));
        let spawns: HashMap<EventId, SiteId> = spawns.map(|event| (event.id, event.site)).collect();
        let place_of_spawn = |thread: usize| {
            let spawn = execution.threads[thread].spawned_by?;
            names.place(*spawns.get(&spawn)?)
        };
        let threads = (0..execution.threads.len())
            .map(|index| TraceThread {
                path: execution.path(ThreadId::new(index)).to_string(),
                name: execution.threads[index].name.clone(),
                spawned: place_of_spawn(index),
            })
            .collect();
        let accesses = execution.accesses.iter().filter_map(|(cell, access)| {
            Some(CellAccess {
                thread: access.thread.index(),
                thing: things.number_of_cell(cell.index()),
                writes: access.writes,
                place: names.place(access.site),
                after: step_of(access.after)?,
            })
        });
        let span = |held: held::Held| {
            Some(TraceSpan {
                thread: held.thread.index(),
                thing: things.locations.len() + held.object.index(),
                from: step_of(held.from)?,
                to: held.to.and_then(step_of),
                shared: held.shared,
            })
        };
        Trace {
            threads,
            steps,
            accesses: accesses.collect(),
            spans: held::all(execution).into_iter().filter_map(span).collect(),
            things: things.made,
            folds: Vec::new(),
        }
    }

    /// Removes everything after the panic, and appends a step for the panic. The trace has the events from index `first`
    /// on.
    pub(crate) fn end_with_panic(&mut self, panic: &Panic, first: usize) {
        let place = panic.place.as_deref().and_then(CodePlace::parse);
        let place = place.map(Place::from);
        self.cut(panic.after.saturating_sub(first));
        let what = match panic.manner {
            Manner::Panic => "panic",
            Manner::Assertion => "failed assertion",
            Manner::Crash => "crash",
            Manner::Memory | Manner::Outside => "bad access",
            Manner::FreedTwice => "second free",
            Manner::Uninitialised => "uninitialised read",
            Manner::Exit => "end of the program",
            Manner::Uncontrolled => "loss of control",
        };
        self.steps
            .push(TraceStep::new(panic.thread, what.to_owned(), place));
    }

    /// Removes everything after the race, and inserts steps for both accesses. The trace has the events from index `first`
    /// on.
    pub(crate) fn end_with_race(
        &mut self,
        race: &DataRace,
        first: usize,
        execution: &Execution,
        names: &dyn Names,
    ) {
        let things = Things::since(first, execution, names);
        let cell = things.cell(race.cell.index());
        let step = |access: &Access| {
            let what = match access.made {
                true => format!("make {cell}"),
                false => format!("{} {cell}", access_verb(access)),
            };
            TraceStep {
                thing: Some(things.number_of_cell(race.cell.index())),
                effect: match access.writes {
                    true => Effect::WriteCell,
                    false => Effect::ReadCell,
                },
                ..TraceStep::new(access.thread, what, names.place(access.site))
            }
        };
        self.cut(race.second.after.saturating_sub(first));
        self.steps.push(step(&race.second));
        let position = race.first.after.saturating_sub(first);
        let position = position.min(self.steps.len() - 1);
        self.insert(position, step(&race.first));
    }

    /// Removes everything after the error, and appends a step for it. The trace has the events from index `first` on.
    pub(crate) fn end_with_error(&mut self, error: &MemoryError, first: usize, names: &dyn Names) {
        self.cut(error.after.saturating_sub(first));
        let what = format!("use {} that does not exist", error.what);
        let place = names.place(error.site);
        self.steps.push(TraceStep::new(error.thread, what, place));
    }
}

impl RecordedExecution {
    /// Builds the description of an execution.
    pub fn of(execution: &Execution, names: &dyn Names) -> Self {
        RecordedExecution {
            trace: Trace::of(execution, names),
            schedule: Schedule::of(execution).to_string(),
            preemptions: execution.preemptions,
        }
    }
}

/// Returns the position of the poll by which a future began to wait, if the pending operation shows
/// the same.
fn polled(
    execution: &Execution,
    thread: ThreadId,
    pending: &Operation,
    site: SiteId,
) -> Option<usize> {
    let mut own = execution.events.iter().enumerate().rev();
    let (position, last) = own.find(|(_, event)| {
        event.id.thread == thread && !matches!(event.operation, Operation::Chance { .. })
    })?;
    let (
        Operation::Call { object, call },
        Operation::Call {
            object: of,
            call: by,
        },
    ) = (*pending, last.operation)
    else {
        return None;
    };
    let is_poll = matches!(
        (call, by),
        (
            Call::Fair(fair::Call::Claim { .. }),
            Call::Fair(fair::Call::Request { .. } | fair::Call::Claim { .. }),
        ) | (
            Call::Channel(channel::Call::Receive),
            Call::Channel(channel::Call::TryReceive),
        ) | (Call::Serial(_), Call::Serial(_))
    );
    (is_poll && object == of && last.site == site).then_some(position)
}

/// Returns the source of an event. For the begin of a thread it is the spawn, for a join the
/// thread's end.
fn cause(event: &Event, execution: &Execution) -> Option<EventId> {
    let thread = |thread: ThreadId| &execution.threads[thread.index()];
    match event.operation {
        Operation::Begin => thread(event.id.thread).spawned_by,
        Operation::Join { target } => thread(target).end,
        _ => event.source,
    }
}
