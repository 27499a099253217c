//! Accesses under RC11: the outcomes that an access may have, and their effects.

use super::State;
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::execution::resolution;
use crate::model::operation::{Chance, Operation, UpdateKind};

impl State {
    /// Returns the number of outcomes of an operation of the thread, if it depends on the
    /// thread's clock. Some of them may be impossible; see [`State::allows`].
    #[inline]
    pub(super) fn weak_outcomes(&self, thread: ThreadId, operation: &Operation) -> Option<u32> {
        match *operation {
            Operation::Load { location, .. } | Operation::Store { location, .. } => {
                Some(self.views.reach(thread, location))
            }
            Operation::Update {
                location, update, ..
            } => {
                // A failing compare-exchange writes nothing, so it may read any of these writes.
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                Some(
                    match !may_fail && self.views.must_append(thread, location) {
                        true => 1,
                        false => Outcome::count_of_update(self.views.reach(thread, location)),
                    },
                )
            }
            Operation::IsFinished { target } => {
                let end = self.execution.threads[target.index()].end;
                let seen = self.views.hb(thread);
                let unseen = |end: EventId| seen[end.thread.index()] <= end.index;
                Some(1 + u32::from(end.is_some_and(unseen)))
            }
            _ => None,
        }
    }

    /// True when the thread's pending operation may have this outcome, one of its
    /// [`outcomes`](State::outcomes).
    pub fn allows(&self, thread: ThreadId, outcome: Outcome) -> bool {
        self.allows_of(thread, self.pending(thread), outcome)
    }

    /// Does the same as [`allows`](Self::allows), for an operation that is not announced.
    #[inline]
    pub(super) fn allows_of(
        &self,
        thread: ThreadId,
        operation: &Operation,
        outcome: Outcome,
    ) -> bool {
        if outcome.is_first() {
            return true;
        }
        if let Operation::Chance {
            what: Chance::WriterFirst,
        } = operation
        {
            return self.keeps_writer_waiting(thread);
        }
        if !self.views.is_on() {
            return true;
        }
        let (location, back, writes) = match *operation {
            Operation::Load { location, .. } => (location, outcome.back(), false),
            Operation::Store { location, .. } => (location, outcome.back(), true),
            Operation::Update {
                location, update, ..
            } => {
                let (back, fails) = (outcome.back_of_update(), outcome.fails_spuriously());
                let (_, old) = self.views.source(location, back);
                if fails && !update.may_fail_spuriously(old) {
                    return false;
                }
                (location, back, update.apply(old, fails).is_some())
            }
            _ => return true,
        };
        (!writes || self.views.may_place(location, back))
            && (self.views).is_consistent(&self.execution, thread, operation, back, writes)
    }

    /// Returns the source of the thread's pending operation if it has this outcome.
    pub(crate) fn would_see(&self, thread: ThreadId, outcome: Outcome) -> Option<EventId> {
        let read = |location: LocationId, back| match self.views.is_on() {
            true => self.views.source(location, back).0,
            false => self.execution.locations[location.index()].last_write,
        };
        match *self.pending(thread) {
            Operation::Load { location, .. } => read(location, outcome.back()),
            Operation::Update { location, .. } => read(location, outcome.back_of_update()),
            Operation::IsFinished { target } => {
                let end = self.execution.threads[target.index()].end;
                end.filter(|_| outcome.sees_end())
            }
            Operation::Receive { ports, .. } => {
                let message = self.messages(ports).nth(outcome.message());
                message.map(|(_, _, message)| message.send)
            }
            Operation::Call { object, .. } => self.calls[object.index()].last,
            _ => None,
        }
    }

    /// Returns the value of the write that is `back` writes before the coherence-last.
    pub(crate) fn value_of(&self, location: LocationId, back: u32) -> u64 {
        match self.views.is_on() {
            true => self.views.source(location, back).1,
            false => self.execution.locations[location.index()].value,
        }
    }

    /// Inserts a write at its place in coherence order; returns the write that it follows.
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

    /// Changes the predecessor of a store in coherence order.
    fn follow(&mut self, store: EventId, old: Option<EventId>, new: EventId) {
        let event = &mut self.execution.events[self.views.position(store)];
        event.source = Some(new);
        if !crate::model::execution::decides(&event.operation) {
            return;
        }
        let resolution = resolution(&event.operation, event.outcome, event.reply);
        let before = self.entry(store, old, resolution);
        let now = self.entry(store, Some(new), resolution);
        self.execution.correct(before, now);
    }
}

#[cfg(test)]
mod tests;
