//! Checks of a program's declaration that the values of some locations decide nothing.
//!
//! An execution is run again along its schedule with other values of these locations, and the
//! operations are compared.

use crate::base::ids::{LocationId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::Names;
use crate::model::operation::{Operation, Update, UpdateKind};

/// An operation that depends on the value of an ignored location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredValue {
    /// Number of events before it.
    pub after: usize,
    /// Its thread.
    pub thread: ThreadId,
    /// The operation in the recorded execution, in words.
    pub then: String,
    /// Its place.
    pub then_at: SiteId,
    /// What the thread does with other values, in words.
    pub now: String,
    /// The place of that; `None` if the thread has ended.
    pub now_at: Option<SiteId>,
    /// The last read of an ignored location by the thread, or by any thread if there is none.
    pub read: Option<(LocationId, SiteId)>,
}

/// Returns the first operation that differs between an execution and a repetition of it with other
/// values of ignored locations. Operands that also differ in `control`, a repetition with the same
/// values, are not compared: addresses differ from run to run. Returns `None` if that repetition
/// differs in more than operands, because then nothing is known.
pub fn difference(
    recorded: &Execution,
    served: &Execution,
    control: Option<&Execution>,
) -> Option<IgnoredValue> {
    let count = recorded.events.len();
    for position in 0..count {
        let event = &recorded.events[position];
        let again = control.map(|control| control.events.get(position));
        if again.is_some_and(|again| !again.is_some_and(|again| is_like(event, again))) {
            return None;
        }
        let is_stable = again
            .flatten()
            .is_none_or(|it| has_same_operands(recorded, event, it));
        let now = served.events.get(position);
        let is_same = now.is_some_and(|now| {
            is_like(event, now) && (!is_stable || has_same_operands(recorded, event, now))
        });
        if !is_same {
            return Some(changed(recorded, served, position));
        }
    }
    let is_known = control.is_none_or(|control| control.panics.len() == recorded.panics.len());
    let panics = is_known && served.panics.len() > recorded.panics.len();
    panics.then(|| changed(recorded, served, count.saturating_sub(1)))
}

/// True for events of one thread at one place that have the same target.
fn is_like(one: &Event, other: &Event) -> bool {
    one.id == other.id && one.site == other.site && one.operation.is_like(&other.operation)
}

/// True unless the values that the two write differ. Those of ignored locations may.
fn has_same_operands(recorded: &Execution, one: &Event, other: &Event) -> bool {
    let location = one.operation.location();
    location.is_some_and(|it| recorded.locations[it.index()].is_ignored)
        || one.operation == other.operation
}

fn changed(recorded: &Execution, served: &Execution, position: usize) -> IgnoredValue {
    let event = &recorded.events[position];
    let thread = event.id.thread;
    let own = |event: &&Event| event.id.thread == thread;
    let mut events = served.events.iter();
    let now = events.find(|event| event.id == recorded.events[position].id);
    let panic = served.panics.iter().find(|panic| panic.thread == thread);
    let ends = now.is_none_or(|now| now.operation == Operation::End);
    let ignored = |event: &&Event| {
        let location = event.operation.location();
        location.is_some_and(|it| recorded.locations[it.index()].is_ignored)
            && !matches!(event.operation, Operation::Store { .. })
    };
    let before = &recorded.events[..position];
    let reads = || before.iter().rev().filter(ignored);
    let read = reads().find(own).or_else(|| reads().next());
    IgnoredValue {
        after: position,
        thread,
        then: in_words(event, recorded),
        then_at: event.site,
        now: match (panic, now) {
            (Some(panic), _) if ends => format!("panics: {}", panic.message),
            (_, Some(now)) if !ends => in_words(now, served),
            (_, Some(_)) => "end".to_owned(),
            (_, None) => "nothing more".to_owned(),
        },
        now_at: now.filter(|_| !ends).map(|now| now.site),
        read: read.and_then(|read| Some((read.operation.location()?, read.site))),
    }
}

/// Describes an operation with its operands.
fn in_words(event: &Event, execution: &Execution) -> String {
    let mut words = vec![event.operation.label().to_owned()];
    let names = Names::of(execution).of_operation(&event.operation, execution);
    words.extend(names.iter().map(ToString::to_string));
    match event.operation {
        Operation::Store {
            value: Some(value), ..
        } => words.push(format!("= {value}")),
        Operation::Update { update, .. } => words.push(format!("with {}", operand(update))),
        _ => {}
    }
    words.join(" ")
}

fn operand(update: Update) -> String {
    use UpdateKind::{
        Add, And, CompareExchange, Max, Min, Nand, Or, SignedMax, SignedMin, Sub, Swap, Xor,
    };
    match update.kind {
        Swap(value) | Add(value) | Sub(value) | And(value) | Nand(value) | Or(value)
        | Xor(value) | Max(value) | Min(value) => value.to_string(),
        SignedMax(value) | SignedMin(value) => value.to_string(),
        CompareExchange { expected, new, .. } => format!("{new} for {expected}"),
    }
}
