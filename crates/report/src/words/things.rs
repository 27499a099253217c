//! Locations, objects and cells of an execution, and descriptions of the operations on them.

use raddle_engine::memory::races::Access;
use raddle_engine::object::{Call, Object, channel, parker, serial, task};
use raddle_engine::{
    Chance, Event, Execution, Grant, ObjectId, Operation, Ports, Received, ThreadId, UpdateKind,
};

use crate::data::place::Place;
use crate::data::trace::NOTHING_UNEXPECTED;
use crate::words::names::Names;
use crate::words::thing_names::{self, ThingName};
use crate::words::values::Values;

/// Names of all locations, objects and cells of an execution.
pub(crate) struct Things {
    pub(crate) locations: Vec<String>,
    values: Values,
    objects: Vec<ThingName>,
    cells: Vec<ThingName>,
    /// All of them with their places of creation, in the order of `Trace::things`.
    pub(crate) made: Vec<(String, Option<Place>)>,
}

impl Things {
    pub(crate) fn of(execution: &Execution, names: &dyn Names) -> Self {
        Things::since(0, execution, names)
    }

    /// Returns those of an execution of which the events from index `first` on are shown.
    pub(crate) fn since(first: usize, execution: &Execution, names: &dyn Names) -> Self {
        let mut locations = thing_names::all(first, execution, names);
        let all = locations.iter();
        let made = all.map(|one| (one.in_step.clone(), one.made.clone()));
        let made = made.collect();
        let mut objects = locations.split_off(execution.locations.len());
        let cells = objects.split_off(execution.objects.len());
        Things {
            values: Values::of(
                &execution.events[first..],
                locations.iter().map(|one| one.kind.clone()).collect(),
                names,
            ),
            locations: locations.into_iter().map(|one| one.in_step).collect(),
            objects,
            cells,
            made,
        }
    }

    /// Returns an object's name for a sentence.
    pub(crate) fn title(&self, index: usize) -> &str {
        &self.objects[index].in_sentence
    }

    /// Returns the names of a receive's ports for a sentence.
    pub(crate) fn port_titles(&self, ports: &Ports, execution: &Execution) -> String {
        let ports = execution.port_list(ports).iter();
        let names: Vec<_> = ports.map(|port| self.title(port.index())).collect();
        names.join(" or ")
    }

    fn object(&self, index: usize) -> &str {
        &self.objects[index].in_step
    }

    /// Returns a cell's name for a step.
    pub(crate) fn cell(&self, index: usize) -> &str {
        &self.cells[index].in_step
    }

    /// Returns the kind of a cell.
    pub(crate) fn cell_kind(&self, index: usize) -> &str {
        &self.cells[index].kind
    }

    /// Returns a cell's name for a sentence.
    pub(crate) fn cell_title(&self, index: usize) -> &str {
        &self.cells[index].in_sentence
    }

    pub(crate) fn location(&self, index: usize) -> &str {
        &self.locations[index]
    }

    /// Returns the index in `Trace::things` of the operation's target.
    pub(crate) fn number(&self, operation: &Operation) -> Option<usize> {
        let object = || Some(self.locations.len() + operation.object()?.index());
        let location = operation.location().map(|location| location.index());
        location.or_else(object)
    }

    /// Returns the index in `Trace::things` of a cell.
    pub(crate) fn number_of_cell(&self, index: usize) -> usize {
        self.locations.len() + self.objects.len() + index
    }

    /// Returns the names of a receive's ports for a step.
    fn ports(&self, ports: &Ports, execution: &Execution) -> String {
        let ports = execution.port_list(ports).iter();
        let names: Vec<_> = ports.map(|port| self.object(port.index())).collect();
        names.join(" or ")
    }

    /// True for the location that is set when one end of a channel is dropped.
    fn is_end(&self, index: usize) -> bool {
        matches!(self.values.kind(index), "Sender" | "Receiver")
    }

    /// Describes the use of a location that represents a resource of the operating system, such as
    /// a pipe. The values of such a location have no meaning.
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

    /// Returns the ordering of an atomic access or a fence, as the program writes it. `None` if the
    /// operation has none in the source.
    pub(crate) fn ordering(&self, event: &Event, names: &dyn Names) -> Option<String> {
        let operation = &event.operation;
        let is_modelled = |index: usize| self.is_end(index) || self.use_of(operation).is_some();
        if operation
            .location()
            .is_some_and(|at| is_modelled(at.index()))
        {
            return None;
        }
        let has_failed = matches!(operation, Operation::Update { .. }) && !event.writes();
        let failed = operation.ordering_of_failure().filter(|_| has_failed);
        let ordering = format!("{:?}", failed.or(operation.ordering())?);
        let is_update = matches!(
            operation,
            Operation::Update { .. } | Operation::Fence { .. }
        );
        let name = names.ordering_name(&ordering);
        match names.has_plain_operations() && !is_update && ordering == "Relaxed" {
            true => Some(format!("plain or {name}")),
            false => Some(name),
        }
    }

    /// Returns the latest value in coherence order of the event's location after the event, if the
    /// event shows it.
    pub(crate) fn value_after(&self, event: &Event) -> Option<String> {
        let index = event.operation.location()?.index();
        if event.back() > 0 || self.is_end(index) || self.use_of(&event.operation).is_some() {
            return None;
        }
        let value = match event.operation {
            Operation::Load { .. } => event.reply.to_value(),
            Operation::Store { value, .. } => value?,
            Operation::Update { update, .. } => {
                let read = event.reply.to_value();
                let written = update.apply(read, event.fails_spuriously());
                written.unwrap_or(read)
            }
            _ => return None,
        };
        Some(self.values.show(index, value))
    }

    pub(crate) fn describe(&self, event: &Event, execution: &Execution) -> String {
        let show = |index: usize, value: u64| self.values.show(index, value);
        if let Some(what) = self.use_of(&event.operation) {
            return what;
        }
        let read = || event.reply.to_value();
        match event.operation {
            Operation::Load { location, .. } if self.is_end(location.index()) => {
                let there = if read() == 0 { "there" } else { "gone" };
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
                    show(index, read())
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
                let value = match value {
                    Some(value) => show(index, value),
                    None => "an unknown value".to_owned(),
                };
                format!("store {value} to {}{late}", self.locations[index])
            }
            Operation::Update {
                location, update, ..
            } => {
                let index = location.index();
                let read = read();
                let (name, old) = (&self.locations[index], show(index, read));
                match update.apply(read, event.fails_spuriously()) {
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
                    (Received::Closed, _) => format!("{what}: no sender left"),
                    _ => format!("{what}: no message"),
                }
            }
            Operation::Delivered { port } => {
                format!("delivered to {}", self.object(port.index()))
            }
            Operation::Choose { alternatives } => {
                format!("choose {} of {alternatives}", event.outcome.alternative())
            }
            Operation::Sleep { time } => format!("sleep {time:?}"),
            Operation::Chance { what } => match (what, event.outcome.is_yes()) {
                (_, false) => NOTHING_UNEXPECTED.to_owned(),
                (Chance::SpuriousUnpark, true) => "park (wakes up spuriously)".to_owned(),
                (Chance::WriterFirst, true) => "a writer that waits goes first".to_owned(),
            },
            Operation::IsFinished { .. } | Operation::Leads { .. } => {
                let answer = if event.reply.to_answer() { "yes" } else { "no" };
                format!(
                    "{}: {answer}",
                    self.describe_pending(&event.operation, execution)
                )
            }
            Operation::Call {
                call: Call::Task(call),
                ..
            } => match call {
                // A poll is shown by the steps in it, and a join by the wait or by its success.
                task::Call::Poll | task::Call::Join if !event.reply.to_answer() => {
                    NOTHING_UNEXPECTED.to_owned()
                }
                task::Call::End => NOTHING_UNEXPECTED.to_owned(),
                task::Call::Poll => "find that it was aborted".to_owned(),
                task::Call::IsFinished => {
                    let what = self.describe_pending(&event.operation, execution);
                    format!("{what}: {}", event.reply.to_answer())
                }
                task::Call::Join | task::Call::Abort => {
                    self.describe_pending(&event.operation, execution)
                }
            },
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
            Operation::Call {
                object,
                call: Call::Serial(call),
            } => serial_call(call, label, self.object(object.index())),
            Operation::Call { object, call } => match (call, &execution.objects[object.index()]) {
                (Call::Parker(parker::Call::Park { .. }), Object::Parker(parker))
                    if parker.is_waker() =>
                {
                    "wait to be woken".to_owned()
                }
                (Call::Parker(parker::Call::Unpark), Object::Parker(parker))
                    if parker.is_waker() =>
                {
                    let task = parks_on(execution, *object);
                    let task = task.map(|thread| title(execution, thread));
                    format!("wake {}", task.as_deref().unwrap_or("a task"))
                }
                (Call::Parker(call), Object::Parker(parker)) => match (call, parker.owner()) {
                    (parker::Call::Park { .. }, Some(_)) => label.to_owned(),
                    (parker::Call::Unpark, Some(owner)) => {
                        format!("{label} {}", title(execution, owner))
                    }
                    (parker::Call::Park { .. }, None) => {
                        format!("wait for {}", self.object(object.index()))
                    }
                    (parker::Call::Unpark, None) => {
                        format!("notify {}", self.object(object.index()))
                    }
                },
                (_, Object::Task(task)) => {
                    let thread = task.thread().map(|thread| title(execution, thread));
                    format!("{label} {}", thread.as_deref().unwrap_or("a task"))
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

/// Returns the name of a thread, or its path if it has none.
pub(crate) fn title(execution: &Execution, thread: ThreadId) -> String {
    let name = execution.threads[thread.index()].name.clone();
    name.unwrap_or_else(|| execution.path(thread).to_string())
}

/// Returns the verb for an access to a cell.
pub(crate) fn access_verb(access: &Access) -> &'static str {
    if access.writes { "write" } else { "read" }
}

/// Returns the thread that waits for the token of a task, as far as the execution shows it.
fn parks_on(execution: &Execution, task: ObjectId) -> Option<ThreadId> {
    let parks = |operation: &Operation| {
        matches!(
            operation,
            Operation::Call { object, call: Call::Parker(parker::Call::Park { .. }) } if *object == task
        )
    };
    let mut events = execution.events.iter();
    if let Some(event) = events.find(|event| parks(&event.operation)) {
        return Some(event.id.thread);
    }
    let mut pending = execution.pending.iter();
    let parked = pending.position(|it| it.is_some_and(|(operation, _)| parks(&operation)));
    parked.map(ThreadId::new)
}

/// Describes a call on an object whose state the front end keeps.
fn serial_call(call: &serial::Call, label: &str, name: &str) -> String {
    let of = match call {
        serial::Call::Wait => "for ",
        serial::Call::Send | serial::Call::Subscribe => "to ",
        serial::Call::Receive => "from ",
        serial::Call::Cancel => "wait for ",
        serial::Call::Look => "at ",
        _ => "",
    };
    format!("{label} {of}{name}")
}

/// Describes a call on a channel.
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
        channel::Call::Close => format!("close {name}"),
        channel::Call::Look => format!("look at {name}"),
    }
}
