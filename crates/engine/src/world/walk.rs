//! Uniform draws among threads and outcomes, and the accesses of a random walk.
//!
//! A random walk draws the next thread without looking at its operation. If that is the running
//! thread, which it often is, its access is performed straight from the arguments of the request: it
//! never becomes a pending operation in memory. The draws are the same as those of
//! [`World::advance`].

mod direct;

use std::sync::atomic::Ordering;

use super::spin::TimedWait;
use super::strategy::Dispatch;
use super::{State, Step, World};
use crate::base::ids::{EventId, LocationId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::event::Event;
use crate::model::operation::{Operation, Update};
use crate::object::{Call, mutex};

/// Returns a random number below `bound`; draws nothing if there is only one.
#[inline]
pub(crate) fn below(rng: &mut Rng, bound: u32) -> u32 {
    if bound == 1 {
        0
    } else {
        rng.below(bound as usize) as u32
    }
}

/// Returns a uniformly drawn enabled thread.
#[inline]
pub(crate) fn any(rng: &mut Rng, state: &State) -> ThreadId {
    let enabled = state.enabled();
    enabled[below(rng, enabled.len() as u32) as usize]
}

/// Chooses the thread, with a uniformly drawn possible outcome.
#[inline]
pub(crate) fn run(rng: &mut Rng, state: &State, thread: ThreadId) -> Choice {
    let outcome = outcome_of(rng, state, thread, state.pending(thread));
    Choice { thread, outcome }
}

/// Returns a uniformly drawn possible outcome of an operation of the thread.
#[inline(always)]
fn outcome_of(rng: &mut Rng, state: &State, thread: ThreadId, operation: &Operation) -> Outcome {
    let outcomes = state.outcomes_of(thread, operation);
    let mut outcome = Outcome::nth(below(rng, outcomes));
    while !outcome.is_first() && !state.allows_of(thread, operation, outcome) {
        outcome = Outcome::nth(below(rng, outcomes));
    }
    outcome
}

/// True for an operation that [`World::walk`] performs. Accesses are always enabled.
#[inline(always)]
pub(super) fn is_access(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
    )
}

impl<D: Dispatch> World<D> {
    /// Requests an access of the running thread, under a random walk, in an execution whose limits
    /// need no check.
    #[inline(always)]
    pub(super) fn walk(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        match operation {
            Operation::Load { location, ordering } => {
                self.walk_load(thread, location, ordering, site)
            }
            Operation::Store {
                location,
                ordering,
                value,
            } => self.walk_store(thread, location, ordering, value, site),
            _ => self.walk_update(thread, &operation, site),
        }
    }

    // One function for each kind of access, which is not inlined into every front. Its arguments are
    // those of the operation, so that they stay in registers.

    #[inline(never)]
    fn walk_load(
        &mut self,
        thread: ThreadId,
        location: LocationId,
        ordering: Ordering,
        site: SiteId,
    ) -> Step {
        self.walk_to(thread, Operation::Load { location, ordering }, site)
    }

    #[inline(never)]
    fn walk_store(
        &mut self,
        thread: ThreadId,
        location: LocationId,
        ordering: Ordering,
        value: Option<u64>,
        site: SiteId,
    ) -> Step {
        let operation = Operation::Store {
            location,
            ordering,
            value,
        };
        self.walk_to(thread, operation, site)
    }

    #[inline(never)]
    fn walk_update(&mut self, thread: ThreadId, operation: &Operation, site: SiteId) -> Step {
        let Operation::Update {
            location,
            ordering,
            failure,
            update,
        } = *operation
        else {
            unreachable!("only called for updates");
        };
        let operation = Operation::Update {
            location,
            ordering,
            failure,
            update,
        };
        self.walk_to(thread, operation, site)
    }

    #[inline(always)]
    fn walk_to(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        let state = &mut self.state;
        debug_assert!(state.is_enabled(thread));
        let Some(rng) = self.strategy.random_walk() else {
            unreachable!("only called under a random walk");
        };
        // The choice of a thread that begins includes its first operation.
        let begins =
            state.threads[thread.index()].events == 1 && state.outcomes_of(thread, &operation) == 1;
        if !begins {
            let next = any(rng, state);
            if next != thread {
                let entry = &mut state.threads[thread.index()];
                entry.pending = operation;
                entry.site = site;
                return self.walk_on(next);
            }
        }
        let outcome = outcome_of(rng, state, thread, &operation);
        state.perform_access(thread, operation, site, outcome);
        Step::Run(thread)
    }

    /// Runs this enabled thread.
    #[inline(never)]
    fn walk_on(&mut self, next: ThreadId) -> Step {
        let Some(rng) = self.strategy.random_walk() else {
            unreachable!("only called under a random walk");
        };
        let state = &mut self.state;
        let entry = &state.threads[next.index()];
        let site = entry.site;
        let operation = match entry.pending {
            Operation::Load { location, ordering } => Operation::Load { location, ordering },
            Operation::Store {
                location,
                ordering,
                value,
            } => Operation::Store {
                location,
                ordering,
                value,
            },
            Operation::Call {
                object,
                call: Call::Mutex(call @ (mutex::Call::Lock | mutex::Call::Unlock { .. })),
            } => {
                state.count_switch(next);
                state.complete_lock(next, object, call);
                return Step::Run(next);
            }
            Operation::Begin => {
                state.count_switch(next);
                state.perform_begin(next);
                return Step::Run(next);
            }
            _ => {
                let choice = run(rng, state, next);
                return match self.take(choice) {
                    true => Step::Run(next),
                    false => self.advance_after_end(),
                };
            }
        };
        state.count_switch(next);
        let outcome = outcome_of(rng, state, next, &operation);
        state.perform_access(next, operation, site, outcome);
        Step::Run(next)
    }
}

impl State {
    /// Performs an access of an enabled thread that was not announced.
    #[inline(always)]
    fn perform_access(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        outcome: Outcome,
    ) {
        let index = self.threads[thread.index()].events;
        let id = EventId { thread, index };
        let (source, reply) = match operation {
            Operation::Load { location, .. } => self.load(location, outcome),
            Operation::Store {
                location, value, ..
            } => self.store(location, value, id, outcome),
            Operation::Update {
                location, update, ..
            } => self.update(location, update, id, outcome),
            _ => unreachable!("only called for accesses"),
        };
        let entry = &mut self.threads[thread.index()];
        entry.reply = reply;
        entry.events = index + 1;
        let is_store = matches!(operation, Operation::Store { .. });
        let decision = self.entry(id, source, operation.resolution(outcome));
        self.execution.add_decision(decision, is_store);
        let event = || Event {
            id,
            operation,
            source,
            outcome,
            reply,
            site,
        };
        self.execution.events.push(event());
        if self.views.is_on() {
            // Not the event in its place: of this one the kind of the operation is known here.
            self.views.record_access(&event(), &self.execution);
        } else if self.order.is_on()
            && let Some(event) = self.execution.events.last()
        {
            self.order.record(event, &self.execution);
        }
        if self.watches {
            self.note_access(thread, &operation, outcome);
        }
    }

    /// Does the same as [`note`](Self::note), for an access that was not announced.
    #[inline(always)]
    fn note_access(&mut self, thread: ThreadId, operation: &Operation, outcome: Outcome) {
        let entry = &mut self.threads[thread.index()];
        match operation {
            Operation::Load { .. } if entry.timed_wait == TimedWait::Outside => {}
            Operation::Store { .. } if entry.timed_wait == TimedWait::Outside => {
                entry.quiet_since = entry.events;
            }
            _ => {
                entry.pending = *operation;
                return self.note(thread, outcome);
            }
        }
        self.note_spinners(thread);
    }

    /// Reads a location; returns the source and the reply.
    #[inline(always)]
    pub(super) fn load(&self, location: LocationId, outcome: Outcome) -> (Option<EventId>, Reply) {
        let (source, value) = match self.views.is_on() {
            true => self.views.source(location, outcome.back()),
            false => {
                let location = &self.execution.locations[location.index()];
                (location.last_write, location.value)
            }
        };
        (source, Reply::value(value))
    }

    /// Writes a location; returns the write before it in coherence order, and the reply.
    #[inline(always)]
    pub(super) fn store(
        &mut self,
        location: LocationId,
        value: Option<u64>,
        id: EventId,
        outcome: Outcome,
    ) -> (Option<EventId>, Reply) {
        let present = &mut self.execution.locations[location.index()];
        let value = value.unwrap_or(present.value);
        let previous = match self.views.is_on() {
            true => self.put(location, outcome.back(), id, value, false),
            false => present.write(id, value),
        };
        (previous, Reply::DONE)
    }

    /// Reads a location and writes it, if the update does; returns the source and the reply.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        location: LocationId,
        update: Update,
        id: EventId,
        outcome: Outcome,
    ) -> (Option<EventId>, Reply) {
        let fails = outcome.fails_spuriously();
        if self.views.is_on() {
            let back = outcome.back_of_update();
            let (source, old) = self.views.source(location, back);
            if let Some(new) = update.apply(old, fails) {
                self.put(location, back, id, new, true);
            }
            return (source, Reply::value(old));
        }
        let present = &mut self.execution.locations[location.index()];
        let (old, source) = (present.value, present.last_write);
        if let Some(new) = update.apply(old, fails) {
            present.write(id, new);
        }
        (source, Reply::value(old))
    }
}

#[cfg(test)]
mod tests;
