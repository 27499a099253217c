//! The words of a future for what was seen in an execution.

use super::follow::{Role, does, fits};
use super::{Alternative, FutureChoice, Point, Sees, seen};
use crate::base::ids::EventId;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::{called, things, thread_name};
use crate::model::operation::Operation;

/// What to write so that the receive at this position sees that; `None` if there are no words for it.
pub fn choice(
    execution: &Execution,
    position: usize,
    alternative: Alternative,
) -> Option<FutureChoice> {
    let receive = &execution.events[position];
    let own = seen(receive)?;
    let sees = match receive.operation {
        Operation::Choose { .. } | Operation::Chance { .. } => None,
        _ => Some(match alternative.source {
            None => Sees::Initial,
            Some(id) => {
                let source = execution.events.iter().find(|event| event.id == id)?;
                Sees::Event(point(execution, source, Role::Sends)?)
            }
        }),
    };
    let has_ways = own.outcome != 0 || alternative.outcome != 0 || sees.is_none();
    Some(FutureChoice {
        receive: point(execution, receive, Role::Receives)?,
        sees,
        outcome: has_ways.then_some(alternative.outcome),
    })
}

/// What to call an event of an execution.
fn point(execution: &Execution, event: &Event, role: Role) -> Option<Point> {
    let label = event.operation.label();
    let thing = match things(&event.operation, execution).first() {
        None => label.to_owned(),
        // Of calls it must be said which, because any of them may come before any other.
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

/// How often the same had happened before.
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
