//! Traces, built from executions.

use std::collections::HashMap;

use raddle_engine::check::held;
use raddle_engine::check::memory_error::MemoryError;
use raddle_engine::check::notified::{self, Notification};
use raddle_engine::check::panic::{Manner, Panic};
use raddle_engine::check::race::DataRace;
use raddle_engine::memory::races::Access;
use raddle_engine::{Event, EventId, Execution, Operation, Schedule, ThreadId};

use crate::data::effect::Effect;
use crate::data::insight::RecordedExecution;
use crate::data::place::{CodePlace, Place};
use crate::data::trace::{CellAccess, Trace, TraceSpan, TraceStep, TraceThread};
use crate::words::names::Names;
use crate::words::things::{Things, access_verb, title};

impl Trace {
    /// Builds the trace of a finished execution.
    pub fn of(execution: &Execution, names: &dyn Names) -> Self {
        Trace::since(0, execution, names)
    }

    /// Builds the trace of the events from index `first` on.
    pub(crate) fn since(first: usize, execution: &Execution, names: &dyn Names) -> Self {
        let things = Things::of(execution, names);
        let positions = execution.events.iter().map(|event| event.id).zip(0..);
        let positions: HashMap<EventId, usize> = positions.collect();
        let step_of = |position: usize| position.checked_sub(first);
        let source = |event: &Event| {
            let position = positions.get(&cause(event, execution)?)?;
            step_of(*position)
        };
        let mut steps: Vec<TraceStep> = execution.events[first..]
            .iter()
            .map(|event| TraceStep {
                thread: event.id.thread.index(),
                what: things.describe(event, execution),
                place: names.place(event.site),
                waits: false,
                thing: things.number(&event.operation),
                source: source(event),
                effect: Effect::of(event),
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
                steps.push(TraceStep {
                    thread,
                    what: things.describe_pending(operation, execution),
                    place: names.place(*site),
                    waits: true,
                    thing: things.number(operation),
                    source: None,
                    effect: Effect::Other,
                });
            }
        }
        let place_of_spawn = |thread: usize| {
            let spawn = positions.get(&execution.threads[thread].spawned_by?)?;
            names.place(execution.events[*spawn].site)
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
        }
    }

    /// Removes everything after the panic, and appends a step for the panic.
    pub(crate) fn end_with_panic(&mut self, panic: &Panic) {
        let place = panic.place.as_deref().and_then(CodePlace::parse);
        let place = place.map(Place::from);
        self.cut(panic.after);
        self.steps.push(TraceStep {
            thread: panic.thread.index(),
            what: match panic.manner {
                Manner::Panic => "panic",
                Manner::Assertion => "failed assertion",
                Manner::Crash => "crash",
                Manner::Memory | Manner::Outside => "bad access",
                Manner::Exit => "end of the program",
                Manner::Uncontrolled => "loss of control",
            }
            .to_owned(),
            place,
            waits: false,
            thing: None,
            source: None,
            effect: Effect::Other,
        });
    }

    /// Removes everything after the race, and inserts steps for both accesses.
    pub(crate) fn end_with_race(
        &mut self,
        race: &DataRace,
        execution: &Execution,
        names: &dyn Names,
    ) {
        let things = Things::of(execution, names);
        let cell = things.cell(race.cell.index());
        let step = |access: &Access| TraceStep {
            thread: access.thread.index(),
            what: match access.made {
                true => format!("make {cell}"),
                false => format!("{} {cell}", access_verb(access)),
            },
            place: names.place(access.site),
            waits: false,
            thing: Some(things.number_of_cell(race.cell.index())),
            source: None,
            effect: match access.writes {
                true => Effect::WriteCell,
                false => Effect::ReadCell,
            },
        };
        self.cut(race.second.after);
        self.steps.push(step(&race.second));
        let first = race.first.after.min(self.steps.len() - 1);
        self.insert(first, step(&race.first));
    }

    /// Removes everything after the error, and appends a step for it.
    pub(crate) fn end_with_error(&mut self, error: &MemoryError, names: &dyn Names) {
        self.cut(error.after);
        self.steps.push(TraceStep {
            thread: error.thread.index(),
            what: format!("use {} that does not exist", error.what),
            place: names.place(error.site),
            waits: false,
            thing: None,
            source: None,
            effect: Effect::Other,
        });
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
