//! Accesses under RC11: the outcomes that an access may have, and their effects.
//!
//! The outcome of a load is the number of writes between its source and the coherence-last write; that
//! of a store is the number of writes behind it. The outcome of an update is twice the former, plus one
//! if it fails spuriously.

use super::State;
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::base::reply::Reply;
use crate::model::execution::distinguishing;
use crate::model::operation::{Operation, UpdateKind};

impl State {
    /// Number of outcomes of the thread's pending operation, if that depends on its clock. Some of them
    /// may be impossible; see [`State::allows`].
    pub(super) fn weak_outcomes(&self, thread: ThreadId) -> Option<u32> {
        match *self.pending(thread) {
            Operation::Load { location, .. } | Operation::Store { location, .. } => {
                Some(self.views.reach(thread, location))
            }
            Operation::Update {
                location, update, ..
            } => {
                // A compare-exchange that fails writes nothing, so it may read any of them.
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                Some(
                    match !may_fail && self.views.must_append(thread, location) {
                        true => 1,
                        false => 2 * self.views.reach(thread, location),
                    },
                )
            }
            Operation::IsFinished { target } => {
                let end = self.execution.threads[target.index()].end;
                let seen = self.views.seen(thread);
                let unseen = |end: EventId| seen[end.thread.index()] <= end.index;
                Some(1 + u32::from(end.is_some_and(unseen)))
            }
            _ => None,
        }
    }

    /// True when the thread's pending operation may have this outcome, one of its
    /// [`outcomes`](State::outcomes).
    pub fn allows(&self, thread: ThreadId, outcome: u32) -> bool {
        if outcome == 0 || !self.views.is_on() {
            return true;
        }
        let operation = self.pending(thread);
        let (location, back, writes) = match *operation {
            Operation::Load { location, .. } => (location, outcome, false),
            Operation::Store { location, .. } => (location, outcome, true),
            Operation::Update {
                location, update, ..
            } => {
                let (back, failed) = (outcome >> 1, outcome & 1);
                let (_, old) = self.views.source(location, back);
                if failed >= update.outcomes(old) {
                    return false;
                }
                (location, back, update.apply(old, failed).is_some())
            }
            _ => return true,
        };
        (!writes || self.views.may_place(location, back))
            && (self.views).is_consistent(&self.execution, thread, operation, back, writes)
    }

    /// The source of the thread's pending operation if it has this outcome.
    pub(crate) fn would_see(&self, thread: ThreadId, outcome: u32) -> Option<EventId> {
        let read = |location: LocationId, back| match self.views.is_on() {
            true => self.views.source(location, back).0,
            false => self.execution.locations[location.index()].last_write,
        };
        match *self.pending(thread) {
            Operation::Load { location, .. } => read(location, outcome),
            Operation::Update { location, .. } => read(location, outcome >> 1),
            Operation::IsFinished { target } => {
                let end = self.execution.threads[target.index()].end;
                end.filter(|_| outcome == 0)
            }
            Operation::Receive { ports, .. } => {
                let message = self.messages(ports).nth(outcome as usize);
                message.map(|(_, _, message)| message.send)
            }
            Operation::Call { object, .. } => self.calls[object.index()].last,
            _ => None,
        }
    }

    /// The value of the write that is `back` writes before the coherence-last.
    pub(crate) fn value_of(&self, location: LocationId, back: u32) -> u64 {
        match self.views.is_on() {
            true => self.views.source(location, back).1,
            false => self.execution.locations[location.index()].value,
        }
    }

    /// Performs an access; returns its source and its reply.
    pub(super) fn access(
        &mut self,
        operation: &Operation,
        id: EventId,
        outcome: u32,
    ) -> (Option<EventId>, Reply) {
        match *operation {
            Operation::Load { location, .. } => {
                let (source, value) = self.views.source(location, outcome);
                (source, Reply::value(value))
            }
            Operation::Store {
                location, value, ..
            } => (self.put(location, outcome, id, value, false), Reply::DONE),
            Operation::Update {
                location, update, ..
            } => {
                let (source, old) = self.views.source(location, outcome >> 1);
                if let Some(new) = update.apply(old, outcome & 1) {
                    self.put(location, outcome >> 1, id, new, true);
                }
                (source, Reply::value(old))
            }
            _ => unreachable!("only called for accesses"),
        }
    }

    /// Puts a write in its place in coherence order; returns the write that it follows.
    pub(super) fn put(
        &mut self,
        location: LocationId,
        back: u32,
        id: EventId,
        value: u64,
        update: bool,
    ) -> Option<EventId> {
        let (last, next) = self.views.place(location, back, id, value, update);
        match next {
            None => {
                self.execution.locations[location.index()].write(id, value);
            }
            Some(next) => self.follow(next, last, id),
        }
        last
    }

    /// Changes the write that a store follows.
    fn follow(&mut self, store: EventId, old: Option<EventId>, new: EventId) {
        let event = &mut self.execution.events[self.views.position(store)];
        event.source = Some(new);
        if !crate::model::execution::decides(&event.operation) {
            return;
        }
        let outcome = distinguishing(&event.operation, event.outcome, event.reply);
        let before = self.entry(store, old, outcome);
        let now = self.entry(store, Some(new), outcome);
        self.execution.correct(before, now);
    }
}

#[cfg(test)]
mod tests;
