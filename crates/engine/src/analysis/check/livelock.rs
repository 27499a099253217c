//! Threads that look again and again at what nobody is left to change.

use super::Finding;
use super::deadlock;
use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::{Execution, Spinning};
use crate::model::operation::Operation;
use crate::object::{Call, condvar, mutex};

/// A thread that goes round without end, and what it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The thread.
    pub thread: ThreadId,
    /// Where the round begins.
    pub site: SiteId,
    /// What it sees in every round, each thing once.
    pub sees: Vec<Seen>,
}

/// Something a thread looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The position of the look in the execution.
    pub look: usize,
    /// The position of the event that made it what it is; `None` if nothing has changed it.
    pub since: Option<usize>,
}

/// What is wrong with an execution in which nobody can go on and some look again and again.
pub(super) fn found(execution: &Execution) -> Finding {
    // Threads that wait for each other are the reason why nobody changes what others look at.
    deadlock::beside_others(execution).unwrap_or_else(|| Finding::Livelock {
        rounds: rounds(execution),
        blocked: deadlock::blocked(execution),
    })
}

fn rounds(execution: &Execution) -> Vec<Round> {
    let round = |one: &Spinning| Round {
        thread: one.thread,
        site: one.site,
        sees: sees(execution, one),
    };
    let mut rounds: Vec<Round> = execution.spinning.iter().map(round).collect();
    rounds.sort_by_key(|round| round.thread);
    rounds
}

fn sees(execution: &Execution, one: &Spinning) -> Vec<Seen> {
    let mut sees: Vec<Seen> = Vec::new();
    for (look, event) in execution.events.iter().enumerate() {
        let known = |seen: &Seen| execution.events[seen.look].operation == event.operation;
        if one.events.contains(&event.id) && is_look(event) && !sees.iter().any(known) {
            let since = since(execution, &event.operation);
            sees.push(Seen { look, since });
        }
    }
    sees
}

fn is_look(event: &Event) -> bool {
    !matches!(
        event.operation,
        Operation::Yield
            | Operation::Sleep { .. }
            | Operation::Fence { .. }
            | Operation::Chance { .. }
    ) && !matches!(
        event.operation,
        // Of a wait that timed out, that it did is enough.
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wait { .. })
                | Call::Mutex(mutex::Call::Lock | mutex::Call::Unlock { .. }),
            ..
        }
    )
}

/// What made it what it is.
fn since(execution: &Execution, operation: &Operation) -> Option<usize> {
    if let Some(location) = operation.location() {
        return execution
            .events
            .iter()
            .rposition(|event| changes(event, location));
    }
    let object = operation.object()?;
    let holder = execution.objects[object.index()].blocked_by()?;
    let takes = |event: &Event| event.id.thread == holder && takes(event, object);
    execution.events.iter().rposition(takes)
}

fn changes(event: &Event, location: LocationId) -> bool {
    event.operation.location() == Some(location)
        && match event.operation {
            Operation::Load { .. } => false,
            Operation::Update { update, .. } => {
                let old = event.reply.to_value();
                update
                    .apply(old, event.outcome)
                    .is_some_and(|new| new != old)
            }
            _ => true,
        }
}

fn takes(event: &Event, object: ObjectId) -> bool {
    event.operation.object() == Some(object) && deadlock::is_grant(event)
}
