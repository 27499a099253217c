//! Rounds of a spin loop whose updates cancel: a reader that adds itself to a count, finds a
//! writer, and subtracts itself again (zero-net-effect loops, Kokologiannakis et al., FMCAD 2021).
//!
//! Such a round is a look like any other if the execution without it exists and has the same
//! outcome. A set of rounds is removed together, because rounds of several threads may overlap.
//! Every thread in the set has the same local state before and after its round. In the coherence
//! order of each location the writes of the set are adjacent, and the last of them restores the
//! value before the first. Only rounds of the set read the others. A read of the last write takes
//! the write before the first instead. Happens-before only becomes smaller, so races and stale
//! reads remain possible.

use std::ops::Range;

use super::State;
use super::spin::is_quiet;
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::model::event::Event;
use crate::model::operation::{Operation, UpdateKind};

/// Maximum number of recent events that are searched for rounds that overlap; more would make long
/// executions quadratic.
const MAX_SPAN: usize = 1_024;

/// The local states that a substrate has recorded.
pub trait LocalStates {
    /// Returns a number for the local state of a thread before its event of this index, the same
    /// number only for the same state, and a larger one for a state that came later for the first
    /// time; `None` if it was not recorded.
    fn before(&self, thread: ThreadId, event: u32) -> Option<u32>;

    /// True when the substrate forgets the states of a thread that writes memory outside its stack.
    /// If not, an exclusive lock that is taken and released may have protected such a write.
    fn sees_plain_writes(&self) -> bool;
}

/// The events of a set of rounds, as an interval of each thread.
struct Rounds(Vec<(ThreadId, Range<u32>)>);

impl Rounds {
    fn contains(&self, id: EventId) -> bool {
        let mut rounds = self.0.iter();
        rounds.any(|(thread, round)| *thread == id.thread && round.contains(&id.index))
    }

    /// Adds an event, and the smallest interval around it that begins and ends in the same local
    /// state; false if there is none.
    fn add(&mut self, id: EventId, events: u32, states: &dyn LocalStates) -> bool {
        let EventId { thread, index } = id;
        let place = self.0.iter().position(|(one, _)| *one == thread);
        let known = place.map_or(index..index + 1, |place| self.0[place].1.clone());
        let (first, last) = (known.start.min(index), known.end.max(index + 1));
        let earliest = first.saturating_sub(MAX_SPAN as u32);
        let round = (last..=events).find_map(|end| {
            let state = states.before(thread, end)?;
            let mut starts = (earliest..=first).rev();
            let start = starts.find(|&start| states.before(thread, start) == Some(state))?;
            Some(start..end)
        });
        let Some(round) = round else {
            return false;
        };
        match place {
            Some(place) => self.0[place].1 = round,
            None => self.0.push((thread, round)),
        }
        true
    }
}

/// The writes of a set of rounds to one location.
struct Written {
    location: LocationId,
    /// Value before the first write of the set.
    before: u64,
    /// The last write so far, and its value.
    last: EventId,
    value: u64,
}

/// Returns the location and the value that an event writes.
pub(super) fn write_of(event: &Event) -> Option<(LocationId, u64)> {
    match event.operation {
        Operation::Store {
            location, value, ..
        } => Some((location, value?)),
        Operation::Update {
            location, update, ..
        } => {
            let fails = event.outcome.fails_spuriously();
            Some((location, update.apply(event.reply.to_value(), fails)?))
        }
        _ => None,
    }
}

/// True for an addition or a subtraction.
pub(super) fn counts(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Update { update, .. }
            if matches!(update.kind, UpdateKind::Add(_) | UpdateKind::Sub(_))
    )
}

impl State {
    /// Returns the recent events of which the first is the earliest of the rounds.
    fn span(&self, rounds: &Rounds) -> Option<&[Event]> {
        let events = &self.execution.events;
        let recent = &events[events.len().saturating_sub(MAX_SPAN)..];
        let starts = |event: &Event| {
            let mut rounds = rounds.0.iter();
            rounds.any(|(thread, round)| {
                event.id
                    == EventId {
                        thread: *thread,
                        index: round.start,
                    }
            })
        };
        let all = recent.iter().filter(|event| starts(event)).count() == rounds.0.len();
        let first = recent.iter().position(starts)?;
        all.then_some(&recent[first..])
    }

    /// True when an event of a round can be removed with its round, as far as the event itself
    /// shows. Writes that are not updates have a place in coherence order that may change in weak
    /// executions.
    fn can_be_undone(&self, event: &Event, states: &dyn LocalStates) -> bool {
        let is_write = write_of(event).is_some();
        counts(event)
            || is_quiet(&event.operation, event.outcome, event.reply)
            || is_write && states.sees_plain_writes() && !(self.views.is_on() && event.is_store())
    }

    /// Returns `None` if the thread's events from `since` on, and rounds of other threads that
    /// overlap with them, change anything together. Otherwise returns the writes that no other event
    /// must read.
    pub(super) fn undone(
        &self,
        thread: ThreadId,
        since: u32,
        states: &dyn LocalStates,
    ) -> Option<Vec<EventId>> {
        let events = self.threads[thread.index()].events;
        // The first state of a loop has the smallest number. A thread that waits later in the round
        // would leave a change that other threads wait for.
        let mut states_of_round = (since..events).filter_map(|event| states.before(thread, event));
        let first = states.before(thread, since)?;
        if states_of_round.any(|state| state < first) {
            return None;
        }
        let mut rounds = Rounds(vec![(thread, since..events)]);
        'grow: loop {
            let span = self.span(&rounds)?;
            let mut written: Vec<Written> = Vec::new();
            let mut unread: Vec<EventId> = Vec::new();
            for event in span {
                let is_part = rounds.contains(event.id);
                if is_part && !self.can_be_undone(event, states) {
                    return None;
                }
                let Some((location, value)) = write_of(event).filter(|_| is_part) else {
                    continue;
                };
                match written.iter_mut().find(|one| one.location == location) {
                    Some(one) if event.source == Some(one.last) => {
                        unread.push(std::mem::replace(&mut one.last, event.id));
                        one.value = value;
                    }
                    // Another write comes between.
                    Some(_) => {
                        let between = event.source.filter(|&source| !rounds.contains(source))?;
                        self.add(&mut rounds, between, states)?;
                        continue 'grow;
                    }
                    None => written.push(Written {
                        location,
                        before: self.value_before(event, location)?,
                        last: event.id,
                        value,
                    }),
                }
            }
            let mut others = span.iter().filter(|event| !rounds.contains(event.id));
            if let Some(event) = others.find(|event| reads_any(event, &unread)) {
                self.add(&mut rounds, event.id, states)?;
                continue;
            }
            let restores = written.iter().all(|one| one.value == one.before);
            return restores.then_some(unread);
        }
    }

    fn add(&self, rounds: &mut Rounds, id: EventId, states: &dyn LocalStates) -> Option<()> {
        let events = self.threads[id.thread.index()].events;
        rounds.add(id, events, states).then_some(())
    }

    /// Returns the value of a location before a write.
    fn value_before(&self, event: &Event, location: LocationId) -> Option<u64> {
        if let Operation::Update { .. } = event.operation {
            return Some(event.reply.to_value());
        }
        let Some(source) = event.source else {
            return Some(self.execution.locations[location.index()].initial);
        };
        let mut events = self.execution.events.iter().rev();
        let source = events.find(|event| event.id == source)?;
        write_of(source).map(|(_, value)| value)
    }
}

/// True for an access of a location that reads one of these writes, or follows it in coherence
/// order.
pub(super) fn reads_any(event: &Event, writes: &[EventId]) -> bool {
    let is_access = matches!(
        event.operation,
        Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
    );
    is_access && event.source.is_some_and(|source| writes.contains(&source))
}
