//! Accesses of cells that nothing orders.
//!
//! An access of a cell is no event: it lies between two events of its thread, and is known by how many
//! events the thread had by then. Another thread's access comes after it if that thread has seen the
//! next one. For each cell the last write is kept, and of the reads since then those that are not known
//! to come before another (FastTrack, Flanagan and Freund, PLDI 2009).
//!
//! Who has a cell, a lock or an atomic alone can have come by it in ways that nobody sees here, such as
//! the counts of an `Arc`. So having it alone is taken as proof that all its uses came before:
//! `Grants`.

pub use crate::model::access::{Access, Conflict};

use super::clock::join;
use super::grants::Grants;
use super::happens_before::{EveryEvent, HappensBefore};
use crate::base::ids::{CellId, EventId, ThreadId};

/// What is known of the cells of an execution.
#[derive(Debug, Default)]
pub(crate) struct Races {
    cells: Vec<Cell>,
    live: usize,
    grants: Grants,
}

#[derive(Debug, Default)]
struct Cell {
    written: Option<Access>,
    /// Since then; one for each thread at most.
    reads: Vec<Access>,
    /// Begun and not over.
    ongoing: Vec<Access>,
}

/// Something that a thread did: its last event by then, and how many events it counts as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unseen {
    pub(crate) last: EventId,
    pub(crate) events: u32,
}

impl Races {
    pub(crate) fn reset(&mut self) {
        for cell in &mut self.cells[..self.live] {
            cell.written = None;
            cell.reads.clear();
            cell.ongoing.clear();
        }
        self.live = 0;
        self.grants.clear();
    }

    pub(crate) fn add_cell(&mut self) -> CellId {
        if self.live == self.cells.len() {
            self.cells.push(Cell::default());
        }
        self.live += 1;
        CellId::new(self.live - 1)
    }

    /// A new cell with the same past as another, which it was a part of.
    pub(crate) fn split(&mut self, cell: CellId) -> CellId {
        let new = self.add_cell();
        let (before, from_new) = self.cells.split_at_mut(new.index());
        let (old, part) = (&before[cell.index()], &mut from_new[0]);
        part.written = old.written;
        part.reads.clone_from(&old.reads);
        new
    }

    /// Takes note of a write that is known to come after all that was done to the cell.
    pub(crate) fn write(&mut self, cell: CellId, now: Access) {
        let cell = &mut self.cells[cell.index()];
        cell.written = Some(now);
        cell.reads.clear();
    }

    /// Takes note of an access; gives an earlier one that nothing orders before it.
    #[inline]
    pub(crate) fn access(&mut self, cell: CellId, now: Access, seen: &[u32]) -> Option<Access> {
        let Races { cells, grants, .. } = self;
        let cell = &mut cells[cell.index()];
        let is_unordered = |first: &Access| {
            first.thread != now.thread
                && !first.is_before(seen)
                && !granted(grants, first, seen, now)
        };
        let mut found = cell.written.filter(is_unordered);
        if now.writes {
            if found.is_none() {
                found = cell.reads.iter().copied().find(is_unordered);
            }
            cell.written = Some(now);
            cell.reads.clear();
            return found;
        }
        let replaced = match &mut cell.reads[..] {
            [only] if only.thread == now.thread || only.is_before(seen) => Some(only),
            several => several.iter_mut().find(|read| read.thread == now.thread),
        };
        match replaced {
            Some(read) => *read = now,
            None => cell.reads.push(now),
        }
        found
    }

    /// A new cell that was accessed before anybody told of it; all of that was in order.
    pub(crate) fn adopt(&mut self, written: Option<Access>, read: Option<Access>) -> CellId {
        let new = self.add_cell();
        let cell = &mut self.cells[new.index()];
        cell.written = written;
        cell.reads.extend(read);
        new
    }

    /// Gives an access of the cell that nothing orders before this one, which is not taken note of.
    pub(crate) fn unordered(&self, cell: CellId, now: Access, seen: &[u32]) -> Option<Access> {
        let cell = &self.cells[cell.index()];
        let reads = if now.writes { &cell.reads[..] } else { &[] };
        let mut earlier = cell.written.iter().chain(reads);
        let found = earlier.find(|first| {
            first.thread != now.thread
                && !first.is_before(seen)
                && !granted(&self.grants, first, seen, now)
        });
        found.copied()
    }

    /// Whether a grant orders an access before this one.
    pub(crate) fn is_granted(&self, first: &Access, now: Access, seen: &[u32]) -> bool {
        granted(&self.grants, first, seen, now)
    }

    /// Adds to a clock of a thread what it was granted.
    pub(crate) fn add_granted(&self, thread: ThreadId, clock: &mut [u32]) {
        self.grants.add_to(thread, clock);
    }

    /// What the clock counts comes before what a thread does from now on.
    pub(crate) fn grant_clock(&mut self, to: ThreadId, index: u32, clock: &[u32]) {
        self.grants.add(to, index, clock);
    }

    /// An access that lasts has begun; gives one that is not over and should be.
    pub(crate) fn begin(&mut self, cell: CellId, now: Access) -> Option<Access> {
        let ongoing = &mut self.cells[cell.index()].ongoing;
        let conflicts = |first: &&Access| first.writes || now.writes;
        let found = ongoing.iter().find(conflicts).copied();
        ongoing.push(now);
        found
    }

    /// The last access that the thread has begun is over; gives it.
    pub(crate) fn end(&mut self, cell: CellId, thread: ThreadId) -> Option<Access> {
        let ongoing = &mut self.cells[cell.index()].ongoing;
        let last = ongoing.iter().rposition(|one| one.thread == thread)?;
        Some(ongoing.remove(last))
    }

    /// What a thread with this clock has not seen of what was done to the cell.
    pub(crate) fn unseen(&self, cell: CellId, now: Access, seen: &[u32]) -> Vec<Unseen> {
        let past = &self.cells[cell.index()];
        let uses = past.written.iter().chain(&past.reads);
        let unseen = uses.filter(|one| one.thread != now.thread && !one.is_before(seen));
        let unseen = unseen.map(|one| Unseen {
            // Nobody does anything before its first event.
            last: EventId {
                thread: one.thread,
                index: one.index.saturating_sub(1),
            },
            events: one.index + 1,
        });
        unseen.collect()
    }

    /// Whatever a thread may not have seen of this, and of what came before, comes before what it does
    /// from now on.
    pub(crate) fn grant(
        &mut self,
        now: Access,
        unseen: &[Unseen],
        order: &HappensBefore<EveryEvent>,
    ) {
        let mut clock = Vec::new();
        for &Unseen { last, events } in unseen {
            let known = order.clock(last);
            clock.resize(known.len(), 0);
            join(&mut clock, known);
            for granted in self.grants.seen(last.thread, known) {
                join(&mut clock, granted);
            }
            let own = &mut clock[last.thread.index()];
            *own = (*own).max(events);
        }
        self.grants.add(now.thread, now.index, &clock);
    }
}

#[cold]
fn granted(grants: &Grants, first: &Access, seen: &[u32], now: Access) -> bool {
    let mut granted = grants.seen(now.thread, seen);
    granted.any(|clock| first.is_before(clock))
}
