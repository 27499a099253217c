//! Locations whose values decide nothing, as the program declares, and values that are served in
//! their place to check that. In as many turns as there are other values, each read has each of them.

use std::collections::BTreeMap;

use super::State;
use crate::base::ids::{EventId, LocationId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Maximum number of values kept for the locations of one site.
const MAX_VALUES: usize = 16;

/// The values that ignored locations had in some executions, by the sites where the locations were created.
#[derive(Clone, Debug, Default)]
pub struct IgnoredValues {
    by_site: BTreeMap<Option<SiteId>, Vec<u64>>,
}

/// Other values for the reads of ignored locations.
#[derive(Clone, Debug)]
pub struct Served {
    /// By location, the values that it had; empty for one that is not ignored.
    values: Vec<Vec<u64>>,
    /// Position of the next value among those that a read may have.
    turn: usize,
}

impl IgnoredValues {
    /// Adds the values of an execution.
    pub fn add(&mut self, execution: &Execution) {
        let is_ignored = |location: LocationId| execution.locations[location.index()].is_ignored;
        for location in &execution.locations {
            if location.is_ignored {
                self.add_value(location.made, location.initial);
            }
        }
        for event in &execution.events {
            if let (Some(location), Some(value)) = (event.operation.location(), written(event))
                && is_ignored(location)
            {
                self.add_value(execution.locations[location.index()].made, value);
            }
        }
    }

    fn add_value(&mut self, site: Option<SiteId>, value: u64) {
        let values = self.by_site.entry(site).or_default();
        if values.len() < MAX_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    /// Returns the number of turns after which every read of the execution was served every other value.
    pub fn turns(&self, execution: &Execution) -> usize {
        let reads = |event: &Event| match event.operation {
            Operation::Load { location, .. } | Operation::Update { location, .. } => Some(location),
            _ => None,
        };
        let read = execution.events.iter().filter_map(reads);
        let values = read.map(|location| self.of(execution, location).len());
        values.max().unwrap_or(0).saturating_sub(1)
    }

    /// Returns the values that are served at this turn.
    pub fn served(&self, execution: &Execution, turn: usize) -> Served {
        let locations = (0..execution.locations.len()).map(LocationId::new);
        let values = locations.map(|location| self.of(execution, location).to_vec());
        Served {
            values: values.collect(),
            turn,
        }
    }

    fn of(&self, execution: &Execution, location: LocationId) -> &[u64] {
        let location = &execution.locations[location.index()];
        let values = self.by_site.get(&location.made);
        let values = values.filter(|_| location.is_ignored);
        values.map_or(&[], Vec::as_slice)
    }
}

impl Served {
    /// Returns another value that the location had, if there is one.
    pub(super) fn value(&mut self, location: LocationId, read: u64) -> u64 {
        let values = self.values.get(location.index());
        let others = values.into_iter().flatten().filter(|&&it| it != read);
        let count = others.clone().count();
        if count == 0 {
            return read;
        }
        let value = others.copied().nth(self.turn % count);
        self.turn += 1;
        value.unwrap_or(read)
    }
}

/// Returns the value that an event writes to its location.
fn written(event: &Event) -> Option<u64> {
    match event.operation {
        Operation::Store { value, .. } => value,
        Operation::Update { update, .. } => {
            update.apply(event.reply.to_value(), event.outcome.fails_spuriously())
        }
        _ => None,
    }
}

impl State {
    /// True when the round of a thread has an access that a search leaves out. No later write may make it
    /// run the round with another value, so the thread must not wait for one.
    #[inline]
    pub(super) fn uses_ignored(&self, round: &[Event]) -> bool {
        let is_ignored = |event: &Event| {
            let location = event.operation.location();
            location.is_some_and(|it| self.execution.locations[it.index()].is_ignored)
        };
        self.has_ignored && round.iter().any(is_ignored)
            || !self.ignored_reads.is_empty()
                && round.iter().any(|it| self.ignored_reads.contains(&it.id))
    }

    /// Returns the identity that the next event of a thread will have.
    fn event_to_come(&self, thread: ThreadId) -> EventId {
        EventId {
            thread,
            index: self.threads[thread.index()].events,
        }
    }

    /// True when the pending operation of a thread is a read whose value decides nothing, of a location that is
    /// not ignored.
    pub(crate) fn is_ignored_read(&self, thread: ThreadId) -> bool {
        self.ignored_reads.contains(&self.event_to_come(thread))
    }

    pub(super) fn ignore_next_read(&mut self, thread: ThreadId) {
        let read = self.event_to_come(thread);
        self.ignored_reads.insert(read);
    }
}
