//! Data races: two accesses of one cell, one of them a write, that happens-before does not order;
//! and the missing synchronization.
//!
//! Often the second thread did read a later write of the first through an atomic variable, but
//! without synchronizing: the store was not a release, or the load not an acquire. Then that pair
//! is reported.

use crate::base::ids::{CellId, EventId, SiteId, ThreadId};
use crate::memory::Strength;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::model::access::{Access, Conflict};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// A data race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataRace {
    /// The cell.
    pub cell: CellId,
    /// The earlier access in this run.
    pub first: Access,
    /// The later access.
    pub second: Access,
    /// Reason why they are not ordered.
    pub why: Why,
}

/// A reason why two accesses are not ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The first access had not ended.
    Overlap,
    /// The second thread read a later write of the first, which would order the accesses if it
    /// synchronized.
    TooWeak(Link),
    /// No write of the first thread reached the second.
    Nothing,
}

/// A write and a read that takes its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The writing event.
    pub write: RaceSide,
    /// The reading event.
    pub read: RaceSide,
}

/// One event of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceSide {
    /// Its thread.
    pub thread: ThreadId,
    /// Its operation.
    pub operation: Operation,
    /// Its source location.
    pub site: SiteId,
    /// True for a failed compare-exchange, which has only read.
    pub has_failed: bool,
    /// True when it lacks the release or acquire that the order needs.
    pub is_weak: bool,
}

/// Returns the data race behind a conflict.
pub fn explain(execution: &Execution, conflict: &Conflict) -> DataRace {
    let &Conflict {
        cell,
        first,
        second,
        overlap,
    } = conflict;
    let why = match overlap {
        true => Why::Overlap,
        false => missing_link(execution, first, second).map_or(Why::Nothing, Why::TooWeak),
    };
    DataRace {
        cell,
        first,
        second,
        why,
    }
}

/// Returns the last read that would have ordered the second access after the first if it
/// synchronized.
fn missing_link(execution: &Execution, first: Access, second: Access) -> Option<Link> {
    let order = HappensBefore::<EveryEvent>::of(execution);
    let events = &execution.events[..second.after.min(execution.events.len())];
    let find = |id: EventId| events.iter().find(|event| event.id == id);
    // The last event of the thread before the second access.
    let last = EventId {
        thread: second.thread,
        index: second.index.checked_sub(1)?,
    };
    let known = order.clock(last);
    let comes_after_first = |write: &Event| match write.id.thread == first.thread {
        true => write.id.index >= first.index,
        false => order.clock_of_others(write.id)[first.thread.index()] > first.index,
    };
    let comes_before_second = |read: &Event| known[read.id.thread.index()] > read.id.index;
    events.iter().rev().find_map(|read| {
        if !reads(read) || !comes_before_second(read) {
            return None;
        }
        let write = find(read.source?)?;
        if write.id.thread == read.id.thread || !comes_after_first(write) {
            return None;
        }
        let (releases, acquires) = (
            releases(events, write, first),
            acquires(events, read, second),
        );
        if releases && acquires {
            return None;
        }
        let end = |event: &Event, is_weak| RaceSide {
            thread: event.id.thread,
            operation: event.operation,
            site: event.site,
            has_failed: event.operation.ordering_of_failure().is_some() && !event.writes(),
            is_weak,
        };
        Some(Link {
            write: end(write, !releases),
            read: end(read, !acquires),
        })
    })
}

fn reads(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Load { .. } | Operation::Update { .. }
    )
}

fn strength(event: &Event) -> Strength {
    Strength::of_operation(&event.operation, event.writes())
}

fn is_fence(event: &Event, what: fn(Strength) -> bool) -> bool {
    matches!(event.operation, Operation::Fence { .. }) && what(strength(event))
}

/// True when the write, or a fence before it, is a release.
fn releases(events: &[Event], write: &Event, first: Access) -> bool {
    let since = match write.id.thread == first.thread {
        true => first.index,
        false => 0,
    };
    let mut between = events.iter().filter(|event| {
        event.id.thread == write.id.thread && (since..write.id.index).contains(&event.id.index)
    });
    strength(write).releases() || between.any(|event| is_fence(event, Strength::releases))
}

/// True when the read, or a fence after it, is an acquire.
fn acquires(events: &[Event], read: &Event, second: Access) -> bool {
    let until = match read.id.thread == second.thread {
        true => second.index,
        false => u32::MAX,
    };
    let mut between = events.iter().filter(|event| {
        event.id.thread == read.id.thread && (read.id.index..until).contains(&event.id.index)
    });
    strength(read).acquires() || between.any(|event| is_fence(event, Strength::acquires))
}
