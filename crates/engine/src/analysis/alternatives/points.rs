//! Describes events of an execution in the notation of alternatives.

use super::follow::{Role, does, fits};
use super::{AlternativeChoice, AlternativeSource, Candidate, Point, seen};
use crate::base::ids::EventId;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::{called, things, thread_name};
use crate::model::operation::Operation;

/// Returns the choice that gives the receive at this position that source and outcome; `None` if it
/// cannot be expressed.
pub fn choice(
    execution: &Execution,
    position: usize,
    alternative: Candidate,
) -> Option<AlternativeChoice> {
    let receive = &execution.events[position];
    let own = seen(receive)?;
    let sees = match receive.operation {
        Operation::Choose { .. } | Operation::Chance { .. } => None,
        _ => Some(match alternative.source {
            None => AlternativeSource::Initial,
            Some(id) => {
                let source = execution.events.iter().find(|event| event.id == id)?;
                AlternativeSource::Event(point(execution, source, Role::Sends)?)
            }
        }),
    };
    let has_ways = !own.outcome.is_first() || !alternative.outcome.is_first() || sees.is_none();
    Some(AlternativeChoice {
        receive: point(execution, receive, Role::Receives)?,
        sees,
        outcome: has_ways.then_some(alternative.outcome.number()),
    })
}

/// Returns the point of the event at this position as a source; `None` if no receive can take it.
pub fn send(execution: &Execution, position: usize) -> Option<Point> {
    point(execution, &execution.events[position], Role::Sends)
}

/// Returns the point of an event.
fn point(execution: &Execution, event: &Event, role: Role) -> Option<Point> {
    let label = event.operation.label();
    let thing = match things(&event.operation, execution).first() {
        None => label.to_owned(),
        // The operation of a call must be named, because any call may precede any other.
        Some(&thing) => match event.operation {
            Operation::Call { .. } => format!("{label}({})", called(thing, execution)),
            _ => called(thing, execution),
        },
    };
    if !does(&event.operation, role, execution)
        && !matches!(event.operation, Operation::Call { .. })
    {
        return None;
    }
    let mut point = Point::new(thread_name(execution, event.id.thread), thing, 0);
    point.occurrence = occurrence(execution, event.id, &point, role);
    Some(point)
}

/// Returns the number of earlier events at the same point.
fn occurrence(execution: &Execution, id: EventId, point: &Point, role: Role) -> u32 {
    let counts = |event: &&Event| {
        let wrote = role == Role::Receives
            || !matches!(event.operation, Operation::Update { .. })
            || event.writes();
        event.id.thread == id.thread
            && event.id.index < id.index
            && wrote
            && fits(point, id.thread, &event.operation, role, execution)
    };
    execution.events.iter().filter(counts).count() as u32
}
