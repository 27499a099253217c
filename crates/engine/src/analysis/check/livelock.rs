//! Livelocks: threads that poll locations or objects that no other thread will change.

use super::{Finding, deadlock};
use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::{Execution, Spinning};
use crate::model::operation::Operation;
use crate::object::{Call, condvar, mutex};

/// A thread that loops forever, and the things it polls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The thread.
    pub thread: ThreadId,
    /// Source location at which an iteration begins.
    pub site: SiteId,
    /// Things polled in every iteration, each once.
    pub sees: Vec<Seen>,
}

/// A thing that a thread polls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Position of the polling event in the execution.
    pub look: usize,
    /// Position of the event that last changed the thing; `None` if none did.
    pub since: Option<usize>,
}

/// Returns the finding when no thread is enabled and some poll forever.
pub(super) fn found(execution: &Execution) -> Finding {
    // A deadlock is the reason why the things that others poll are not changed.
    deadlock::for_ever(execution).unwrap_or_else(|| Finding::Livelock {
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
        // Of a timed wait it suffices to report the timeout.
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wait { .. })
                | Call::Mutex(mutex::Call::Lock | mutex::Call::Unlock { .. }),
            ..
        }
    )
}

/// Returns the event that last changed the polled thing, without changes that a round undoes.
fn since(execution: &Execution, operation: &Operation) -> Option<usize> {
    if let Some(location) = operation.location() {
        let is_undone = |event: &Event| {
            let mut rounds = execution.spinning.iter();
            rounds.any(|one| one.events.contains(&event.id))
        };
        let mut events = execution.events.iter();
        return events.rposition(|event| changes(event, location) && !is_undone(event));
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
                let new = update.apply(old, event.outcome.fails_spuriously());
                new.is_some_and(|new| new != old)
            }
            _ => true,
        }
}

fn takes(event: &Event, object: ObjectId) -> bool {
    event.operation.object() == Some(object) && deadlock::is_grant(event)
}
