//! An execution in the user's own names: what each thread did, to what, on which line.

use std::collections::HashMap;

use raddle_engine::check::held;
use raddle_engine::check::notified::{self, Notification};
use raddle_engine::check::panic::{Manner, Panic};
use raddle_engine::object::{Call, Object, channel, parker};
use raddle_engine::{
    Chance, Event, EventId, Execution, Grant, Operation, Ports, Received, SiteId, ThreadId,
    UpdateKind,
};
use serde::{Deserialize, Serialize};

use crate::called::{self, Called};
use crate::coverage::CodePlace;
use crate::effect::Effect;
use crate::value::Values;

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

/// Names for the locations and objects of one execution, and what was done to them in words.
pub(crate) struct Things {
    pub(crate) locations: Vec<String>,
    values: Values,
    objects: Vec<Called>,
    cells: Vec<Called>,
    made: Vec<(String, Option<Place>)>,
}

impl Things {
    pub(crate) fn of(execution: &Execution, names: &dyn Names) -> Self {
        let mut locations = called::all(execution, names);
        let all = locations.iter();
        let made = all.map(|one| (one.in_step.clone(), one.made.clone()));
        let made = made.collect();
        let mut objects = locations.split_off(execution.locations.len());
        let cells = objects.split_off(execution.objects.len());
        Things {
            values: Values::of(
                execution,
                locations.iter().map(|one| one.kind.clone()).collect(),
            ),
            locations: locations.into_iter().map(|one| one.in_step).collect(),
            objects,
            cells,
            made,
        }
    }

    /// What a sentence calls an object.
    pub(crate) fn title(&self, index: usize) -> &str {
        &self.objects[index].in_sentence
    }

    /// What a sentence calls the ports that a receive looks at.
    pub(crate) fn port_titles(&self, ports: &Ports, execution: &Execution) -> String {
        let ports = execution.port_list(ports).iter();
        let names: Vec<_> = ports.map(|port| self.title(port.index())).collect();
        names.join(" or ")
    }

    fn object(&self, index: usize) -> &str {
        &self.objects[index].in_step
    }

    /// What a step calls a cell.
    pub(crate) fn cell(&self, index: usize) -> &str {
        &self.cells[index].in_step
    }

    /// What sort of cell it is.
    pub(crate) fn cell_kind(&self, index: usize) -> &str {
        &self.cells[index].kind
    }

    /// What a sentence calls a cell.
    pub(crate) fn cell_title(&self, index: usize) -> &str {
        &self.cells[index].in_sentence
    }

    pub(crate) fn location(&self, index: usize) -> &str {
        &self.locations[index]
    }

    /// Where in [`Trace::things`] it is what an operation is done to.
    fn number(&self, operation: &Operation) -> Option<usize> {
        let object = || Some(self.locations.len() + operation.object()?.index());
        let location = operation.location().map(|location| location.index());
        location.or_else(object)
    }

    /// Where in [`Trace::things`] a cell is.
    pub(crate) fn number_of_cell(&self, index: usize) -> usize {
        self.locations.len() + self.objects.len() + index
    }

    /// The ports that a receive looks at.
    fn ports(&self, ports: &Ports, execution: &Execution) -> String {
        let ports = execution.port_list(ports).iter();
        let names: Vec<_> = ports.map(|port| self.object(port.index())).collect();
        names.join(" or ")
    }

    /// Whether the location says if an end of a channel is gone.
    fn is_end(&self, index: usize) -> bool {
        matches!(self.values.kind(index), "Sender" | "Receiver")
    }

    /// What using a location is called that is no variable but stands for something of the system's, such
    /// as a pipe; its values mean nothing.
    fn use_of(&self, operation: &Operation) -> Option<String> {
        let index = operation.location()?.index();
        let kind = self.values.kind(index);
        let is_place = kind != "atomic" && kind.starts_with(|first: char| first.is_lowercase());
        let verb = match operation {
            Operation::Load { .. } => "look at",
            _ => "use",
        };
        is_place.then(|| format!("{verb} {}", self.locations[index]))
    }

    pub(crate) fn describe(&self, event: &Event, execution: &Execution) -> String {
        let show = |index: usize, value: u64| self.values.show(index, value);
        if let Some(what) = self.use_of(&event.operation) {
            return what;
        }
        let read = event.reply.to_value();
        match event.operation {
            Operation::Load { location, .. } if self.is_end(location.index()) => {
                let there = if read == 0 { "there" } else { "gone" };
                format!("look for {}: {there}", self.locations[location.index()])
            }
            Operation::Store { location, .. } if self.is_end(location.index()) => {
                format!("drop {}", self.locations[location.index()])
            }
            Operation::Load { location, .. } => {
                let index = location.index();
                let stale = if event.back() > 0 { ", stale" } else { "" };
                format!(
                    "load {} = {}{stale}",
                    self.locations[index],
                    show(index, read)
                )
            }
            Operation::Store {
                location, value, ..
            } => {
                let index = location.index();
                let late = if event.back() > 0 {
                    ", already overwritten"
                } else {
                    ""
                };
                format!(
                    "store {} to {}{late}",
                    show(index, value),
                    self.locations[index]
                )
            }
            Operation::Update {
                location, update, ..
            } => {
                let index = location.index();
                let (name, old) = (&self.locations[index], show(index, read));
                match update.apply(read, event.fails_spuriously().into()) {
                    Some(new) => {
                        let label = event.operation.label();
                        format!("{label} {name}: {old} to {}", show(index, new))
                    }
                    None if event.fails_spuriously() => {
                        format!("compare-exchange {name} fails spuriously: {old}")
                    }
                    None => match update.kind {
                        UpdateKind::CompareExchange { expected, .. } => format!(
                            "compare-exchange {name} fails: {old}, not {}",
                            show(index, expected)
                        ),
                        _ => unreachable!("only a compare-exchange may write nothing"),
                    },
                }
            }
            Operation::Spawn => format!("spawn {}", title(execution, event.reply.to_thread())),
            Operation::Receive { ref ports, .. } => {
                let what = self.describe_pending(&event.operation, execution);
                match (event.reply.to_received(), event.source) {
                    (Received::Message { port, .. }, Some(send)) => {
                        let port = execution.port_list(ports)[port as usize];
                        let sender = title(execution, send.thread);
                        format!("receive from {} (from {sender})", self.object(port.index()))
                    }
                    (Received::Closed, _) => format!("{what}: nobody left to send"),
                    _ => format!("{what}: nothing there"),
                }
            }
            Operation::Delivered { port } => {
                format!("delivered to {}", self.object(port.index()))
            }
            Operation::Choose { alternatives } => {
                format!("choose {} of {alternatives}", event.outcome)
            }
            Operation::Sleep { time } => format!("sleep {time:?}"),
            Operation::Chance { what } => match (what, event.outcome) {
                (_, 0) => NOTHING.to_owned(),
                (Chance::SpuriousUnpark, _) => "park (wakes up spuriously)".to_owned(),
            },
            Operation::IsFinished { .. } | Operation::Leads { .. } => {
                let answer = if event.reply.to_answer() { "yes" } else { "no" };
                format!(
                    "{}: {answer}",
                    self.describe_pending(&event.operation, execution)
                )
            }
            Operation::Call { call, .. } => {
                let what = self.describe_pending(&event.operation, execution);
                if let Some(remark) = call.remark(event.reply) {
                    return format!("{what} ({remark})");
                }
                match call.grant(event.reply) {
                    Some(Grant::Refused) => format!("{what} fails"),
                    Some(Grant::Taken { poisoned: true }) => format!("{what} (poisoned)"),
                    None if call.asks() => format!("{what}: {}", event.reply.to_answer()),
                    _ => what,
                }
            }
            _ => self.describe_pending(&event.operation, execution),
        }
    }

    pub(crate) fn describe_pending(&self, operation: &Operation, execution: &Execution) -> String {
        if let Some(what) = self.use_of(operation) {
            return what;
        }
        let label = operation.label();
        match operation {
            Operation::Join { target } | Operation::IsFinished { target } => {
                format!("{label} {}", title(execution, *target))
            }
            Operation::Send { port } => format!("{label} to {}", self.object(port.index())),
            Operation::Delivered { port } => format!("deliver to {}", self.object(port.index())),
            Operation::Receive { ports, .. } => {
                format!("{label} from {}", self.ports(ports, execution))
            }
            Operation::HangUp { location, .. } => {
                format!("drop {}", self.locations[location.index()])
            }
            Operation::Call {
                object,
                call: Call::Channel(call),
            } => channel_call(call, self.object(object.index())),
            Operation::Call { object, call } => match (call, &execution.objects[object.index()]) {
                (Call::Parker(parker::Call::Park { .. }), _) => label.to_owned(),
                (Call::Parker(parker::Call::Unpark), Object::Parker(parker)) => {
                    format!("{label} {}", title(execution, parker.owner()))
                }
                (_, Object::Counted(counted)) => {
                    let ends = counted.ends().unwrap_or(*object);
                    format!("{label} {}", self.object(ends.index()))
                }
                _ => format!("{label} {}", self.object(object.index())),
            },
            Operation::Meet { barrier: object }
            | Operation::Leads {
                barrier: object, ..
            } => format!("{label} {}", self.object(object.index())),
            _ => match operation.location() {
                Some(location) => format!("{label} {}", self.locations[location.index()]),
                None => label.to_owned(),
            },
        }
    }
}

/// What to call a thread in front of the user.
pub(crate) fn title(execution: &Execution, thread: ThreadId) -> String {
    let name = execution.threads[thread.index()].name.clone();
    name.unwrap_or_else(|| execution.path(thread).to_string())
}

/// A call on a channel in words.
fn channel_call(call: &channel::Call, name: &str) -> String {
    match call {
        channel::Call::Send => format!("send to {name}"),
        channel::Call::TrySend => format!("try-send to {name}"),
        channel::Call::Delivered(_) => format!("deliver to {name}"),
        channel::Call::Receive | channel::Call::Accept { .. } => format!("receive from {name}"),
        channel::Call::TryReceive => format!("try-receive from {name}"),
        channel::Call::Clone => format!("clone sender of {name}"),
        channel::Call::HangUp => format!("drop sender of {name}"),
        channel::Call::Leave => format!("drop receiver of {name}"),
    }
}
