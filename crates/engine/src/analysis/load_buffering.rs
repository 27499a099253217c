//! Load buffering: cycles of program order and reads-from, which hardware has and the memory model does not.
//!
//! In `a.load(); b.store(1)` beside `b.load(); a.store(1)`, both loads may read 1 on some processors if all accesses
//! are relaxed. No execution of the model shows that, so no search can tell whether a program depends on it. Here
//! every cycle that could be is found, not only those that could come true: values, dependencies and fences are not
//! looked at.

use std::collections::BTreeSet;

use crate::base::ids::{EventId, LocationId, SiteId};
use crate::memory::happens_before::Strength;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Maximum number of reads, beyond which every access counts as part of a cycle.
const MOST_READS: usize = 400;

struct Access {
    id: EventId,
    location: LocationId,
    site: SiteId,
    strength: Strength,
}

/// Returns the sites of accesses that a cycle could use, and that do not order it: a write that does not release, or a
/// read that does not acquire.
pub fn unordered_sites(execution: &Execution) -> BTreeSet<SiteId> {
    let known = Known::of(execution);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for event in &execution.events {
        let Some((location, is_read, is_write)) = access(event) else {
            continue;
        };
        let access = |writes| Access {
            id: event.id,
            location,
            site: event.site,
            strength: Strength::of_operation(&event.operation, writes),
        };
        if is_read {
            reads.push(access(is_write));
        }
        if is_write {
            writes.push(access(true));
        }
    }
    if reads.len() > MOST_READS {
        return reads.iter().chain(&writes).map(|it| it.site).collect();
    }
    // For each read the writes after it, and the reads that may read from these.
    let follows = |write: &Access, read: &Access| {
        write.id.thread == read.id.thread
            && write.id.index > read.id.index
            && write.location != read.location
    };
    let may_read = |read: &Access, write: &Access| {
        read.location == write.location
            && read.id.thread != write.id.thread
            && !known.is_before(read.id, write.id)
    };
    let mut edges = Vec::new();
    let mut reaches = vec![vec![false; reads.len()]; reads.len()];
    for (from, read) in reads.iter().enumerate() {
        for (at, write) in writes.iter().enumerate() {
            if !follows(write, read) {
                continue;
            }
            for (to, other) in reads.iter().enumerate() {
                if may_read(other, write) {
                    edges.push((from, at, to));
                    reaches[from][to] = true;
                }
            }
        }
    }
    for middle in 0..reads.len() {
        let through = reaches[middle].clone();
        for row in reaches.iter_mut().filter(|row| row[middle]) {
            for (own, other) in row.iter_mut().zip(&through) {
                *own |= other;
            }
        }
    }
    let mut sites = BTreeSet::new();
    for (from, write, to) in edges {
        let (write, read) = (&writes[write], &reads[to]);
        let is_ordered = write.strength.releases() && read.strength.acquires();
        if reaches[to][from] && !is_ordered {
            sites.extend([write.site, read.site]);
        }
    }
    sites
}

/// Returns the location of an access, and whether it reads and writes.
fn access(event: &Event) -> Option<(LocationId, bool, bool)> {
    match event.operation {
        Operation::Load { location, .. } => Some((location, true, false)),
        Operation::Store { location, .. } => Some((location, false, true)),
        Operation::Update { location, .. } => Some((location, true, event.writes())),
        _ => None,
    }
}

/// The events before each event by the creation and the end of threads, which no access can change.
struct Known {
    clocks: Vec<Vec<Vec<u32>>>,
}

impl Known {
    fn of(execution: &Execution) -> Self {
        let count = execution.threads.len();
        let mut now = vec![vec![0; count]; count];
        let mut clocks = vec![Vec::new(); count];
        let join = |clock: &mut Vec<u32>, other: &[u32]| {
            for (own, other) in clock.iter_mut().zip(other) {
                *own = (*own).max(*other);
            }
        };
        for event in &execution.events {
            let thread = event.id.thread.index();
            if let Operation::Join { target } = event.operation {
                let ended = now[target.index()].clone();
                join(&mut now[thread], &ended);
            }
            now[thread][thread] = event.id.index + 1;
            if let Operation::Spawn = event.operation {
                let clock = now[thread].clone();
                join(&mut now[event.reply.to_thread().index()], &clock);
            }
            clocks[thread].push(now[thread].clone());
        }
        Known { clocks }
    }

    fn is_before(&self, first: EventId, second: EventId) -> bool {
        let clock = &self.clocks[second.thread.index()][second.index as usize];
        clock[first.thread.index()] > first.index
    }
}
