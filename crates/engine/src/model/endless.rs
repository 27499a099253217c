//! Loops without end, and the executions in which they were left.

use super::event::Event;
use super::execution::Execution;
use super::operation::Operation;
use super::schedule::ThreadPath;
use crate::base::ids::{CellId, LocationId, ObjectId, SiteId, ThreadId};
use crate::object::effect::Effect;

/// A loop of one thread that is taken to have no end, by an operation that each of its rounds begins with. The
/// thread holds no lock there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndlessLoop {
    /// The thread.
    pub thread: ThreadPath,
    /// Place of the operation.
    pub site: SiteId,
    /// Label of the operation.
    pub label: &'static str,
}

/// A loop that a thread was made to leave in an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftLoop {
    /// The thread.
    pub thread: ThreadId,
    /// Place of the operation with which the next round would have begun.
    pub site: SiteId,
    /// Number of rounds.
    pub rounds: u32,
}

/// One event of a thread, and whether the thread held no lock before it.
pub(crate) type OwnEvent<'a> = (&'a Event, bool);

/// A step of a round: an operation or an access, with what it is done to. Values are no part of it.
#[derive(PartialEq, Eq)]
enum RoundStep {
    Operation {
        label: &'static str,
        site: SiteId,
        location: Option<LocationId>,
        object: Option<ObjectId>,
        lock: Option<ObjectId>,
    },
    /// An access of a cell after this number of events of the round.
    Access {
        after: u32,
        cell: CellId,
        writes: bool,
        site: SiteId,
    },
}

impl Execution {
    /// Returns the events of a thread, and true if it holds no lock after them. A lock that is given back more often
    /// than it was taken counts as not held.
    pub(crate) fn own_events(&self, thread: ThreadId) -> (Vec<OwnEvent<'_>>, bool) {
        let mut held = 0u32;
        let own = self.events.iter().filter(|it| it.id.thread == thread);
        let own = own.map(|event| {
            let is_free = held == 0;
            match event.lock_effect() {
                Some((_, Effect::Take { .. })) => held += 1,
                Some((_, Effect::Release)) => held = held.saturating_sub(1),
                Some((_, Effect::Downgrade)) | None => {}
            }
            (event, is_free)
        });
        let own = own.collect();
        (own, held == 0)
    }

    /// Returns the number of rounds that the thread has completed, if it is about to begin another one with this
    /// operation and the last two have the same steps: operations and accesses at the same places, done to the same
    /// objects.
    pub(crate) fn repeated_rounds(
        &self,
        thread: ThreadId,
        operation: &Operation,
        site: SiteId,
    ) -> Option<u32> {
        let (own, is_free) = self.own_events(thread);
        let begins = |&(event, is_free): &OwnEvent<'_>| {
            is_free && event.site == site && event.operation.label() == operation.label()
        };
        let begins: Vec<usize> = (0..own.len()).filter(|&it| begins(&own[it])).collect();
        let [.., first, second] = begins[..] else {
            return None;
        };
        let is_repeated = is_free
            && self.round_steps(thread, &own[first..second])
                == self.round_steps(thread, &own[second..]);
        is_repeated.then_some(begins.len() as u32)
    }

    fn round_steps(&self, thread: ThreadId, round: &[OwnEvent<'_>]) -> Vec<RoundStep> {
        let mut steps: Vec<RoundStep> = (round.iter())
            .map(|(event, _)| RoundStep::Operation {
                label: event.operation.label(),
                site: event.site,
                location: event.operation.location(),
                object: event.operation.object(),
                lock: event.lock_effect().map(|(lock, _)| lock),
            })
            .collect();
        let Some((first, _)) = round.first() else {
            return steps;
        };
        // Accesses after the first event of the round, and before the first one of the next.
        let from = first.id.index;
        let counts = from + 1..=from + round.len() as u32;
        let accesses = self.accesses.iter().filter(|(_, access)| {
            access.thread == thread && !access.made && counts.contains(&access.index)
        });
        steps.extend(accesses.map(|&(cell, access)| RoundStep::Access {
            after: access.index - from,
            cell,
            writes: access.writes,
            site: access.site,
        }));
        steps
    }
}
