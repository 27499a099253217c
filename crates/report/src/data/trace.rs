//! An execution in the user's own names: what each thread did, to what, on which line.

use std::collections::HashMap;

use raddle_engine::check::held;
use raddle_engine::check::notified::{self, Notification};
use raddle_engine::check::panic::{Manner, Panic};
use raddle_engine::{Event, EventId, Execution, Operation, SiteId, ThreadId};
use serde::{Deserialize, Serialize};

use crate::data::coverage::CodePlace;
use crate::data::effect::Effect;
use crate::words::things::{Things, title};

/// What a step says when something that might have happened did not.
pub(crate) const NOTHING: &str = "nothing unexpected";

/// A place in the user's source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// As the compiler calls the file.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl From<CodePlace> for Place {
    fn from(CodePlace { file, line, column }: CodePlace) -> Self {
        Place { file, line, column }
    }
}

/// How the front end calls what the engine only numbers.
pub trait Names {
    /// Where an operation was written.
    fn place(&self, site: SiteId) -> Option<Place>;
    /// Kind and place of creation of an object, by index.
    fn object(&self, index: usize) -> (&str, Option<Place>);
    /// Kind and place of creation of a memory location, by index.
    fn location(&self, index: usize) -> (&str, Option<Place>);
    /// The name that the program gave an object, which goes before its kind.
    fn object_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// The name that the program gave a memory location.
    fn location_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls an object, if that is known: a variable or a field. It goes
    /// before the kind, and after a name that the program gave.
    fn object_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls a memory location.
    fn location_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// Kind and place of creation of a cell, by index.
    fn cell(&self, _index: usize) -> (&str, Option<Place>) {
        ("UnsafeCell", None)
    }
    /// The name that the program gave a cell.
    fn cell_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls a cell.
    fn cell_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// What memory a cell is, in words, if there is more to say than its name.
    fn cell_story(&self, _index: usize) -> Option<String> {
        None
    }
    /// Whether the program is known by its addresses.
    fn is_native(&self) -> bool {
        false
    }
    /// Whether orderings have the names that C gives them.
    fn is_c(&self) -> bool {
        false
    }
    /// The calls that led to a place, in words, if they are known.
    fn chain(&self, _site: SiteId) -> Option<String> {
        None
    }
}

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceThread {
    /// Its place in the tree of creations, `main.2` for the second thread that `main` created.
    pub path: String,
    /// The name the program gave it.
    pub name: Option<String>,
    /// Where it was created; nothing for the main thread.
    pub spawned: Option<Place>,
}

impl TraceThread {
    /// What to call it in front of the user.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// In words: `lock Mutex#2`, `store 1 to AtomicU32#1`.
    pub what: String,
    /// The line it was written on.
    pub place: Option<Place>,
    /// Whether the thread still waits for it at the end.
    pub waits: bool,
    /// What it is done to, as an index into [`Trace::things`].
    pub thing: Option<usize>,
    /// The step from which it has its value or its turn.
    pub source: Option<usize>,
    /// What it does, for programs.
    pub effect: Effect,
}

/// A lock that a thread holds for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// The lock, as an index into [`Trace::things`].
    pub thing: usize,
    /// The step that takes it.
    pub from: usize,
    /// The step that gives it back; nothing if it is held to the end.
    pub to: Option<usize>,
    /// Whether others may hold it at the same time.
    pub shared: bool,
}

/// What happened, step by step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Every thread, in order of creation.
    pub threads: Vec<TraceThread>,
    /// Every step, in the order it happened; what never happened comes last.
    pub steps: Vec<TraceStep>,
    /// The names used in the steps, each with the place where the thing was made.
    pub things: Vec<(String, Option<Place>)>,
    /// Which locks were held, in the order in which they were taken.
    pub spans: Vec<TraceSpan>,
    /// Accesses of cells, in the order they happened; only of executions that were replayed.
    pub accesses: Vec<CellAccess>,
}

/// An access of a cell. It is no step: nobody waits for it, and nothing follows from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CellAccess {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// Index into [`Trace::things`].
    pub thing: usize,
    /// Whether it may have been changed.
    pub writes: bool,
    /// The line it was written on.
    pub place: Option<Place>,
    /// How many steps came before.
    pub after: usize,
}

impl Trace {
    /// The trace of a finished execution.
    pub fn of(execution: &Execution, names: &dyn Names) -> Self {
        Trace::since(0, execution, names)
    }

    /// The trace of an execution from an event on: the first step is that event.
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
            let who = match names.is_empty() {
                true => "nobody waits".to_owned(),
                false => format!("wakes {}", names.join(", ")),
            };
            let what = &mut steps[step].what;
            *what = format!("{what} ({who})");
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

    /// Leaves out everything from a step on.
    pub(crate) fn cut(&mut self, length: usize) {
        self.steps.truncate(length);
        self.accesses.retain(|access| access.after <= length);
        self.spans.retain(|span| span.from < length);
        for span in &mut self.spans {
            span.to = span.to.filter(|&to| to < length);
        }
    }

    /// Puts a step that is no event before another.
    pub(crate) fn insert(&mut self, at: usize, step: TraceStep) {
        self.steps.insert(at, step);
        let later = |index: &mut usize| *index += usize::from(*index >= at);
        let steps = self.steps.iter_mut();
        steps
            .filter_map(|step| step.source.as_mut())
            .for_each(later);
        for span in &mut self.spans {
            later(&mut span.from);
            span.to.as_mut().map(later);
        }
        // What comes right before it is still so.
        for access in &mut self.accesses {
            access.after += usize::from(access.after > at);
        }
    }

    /// For each event of the execution, as far as it is told, the step that it is. The accesses of a race are
    /// steps, and no events.
    pub fn steps_of_events(&self) -> impl Iterator<Item = usize> + '_ {
        let is_access =
            |step: &TraceStep| matches!(step.effect, Effect::ReadCell | Effect::WriteCell);
        let steps = self.steps.iter().enumerate();
        let events = steps.filter(move |(_, step)| !is_access(step));
        events.map(|(index, _)| index)
    }

    /// Leaves out what happened after the panic, and shows the panic itself.
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

    /// What to call a thread in front of the user.
    pub fn title(&self, thread: ThreadId) -> &str {
        self.threads
            .get(thread.index())
            .map_or("?", TraceThread::title)
    }
}

/// The event that an event has its value or its turn from.
fn cause(event: &Event, execution: &Execution) -> Option<EventId> {
    let thread = |thread: ThreadId| &execution.threads[thread.index()];
    match event.operation {
        Operation::Begin => thread(event.id.thread).spawned_by,
        Operation::Join { target } => thread(target).end,
        _ => event.source,
    }
}
