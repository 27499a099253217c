//! Data races: accesses of a cell that happens-before does not order.
//!
//! An access of a cell is not an event: it lies between two events of its thread, and is stamped
//! with the thread's number of events at that time. It happens before an action of another thread
//! if the thread's next event does. For each cell the last write is kept, and the reads since then
//! that do not happen before another (FastTrack, Flanagan and Freund, PLDI 2009).
//!
//! Exclusive access to a cell, a lock or an atomic may have been synchronized by accesses that are
//! not modelled, such as the counts of an `Arc`. So it is taken as proof that all earlier uses
//! happen before it: `Grants`.

pub use crate::model::access::{Access, Conflict};

use super::clock::join;
use super::grants::Grants;
use super::happens_before::{EveryEvent, HappensBefore};
use crate::base::ids::{CellId, EventId, ThreadId};

/// The cells of an execution, and their accesses.
#[derive(Debug, Default)]
pub(crate) struct Races {
    cells: Vec<Cell>,
    live: usize,
    grants: Grants,
}

#[derive(Debug, Default)]
struct Cell {
    written: Option<Access>,
    /// Reads since the last write; at most one for each thread.
    reads: Vec<Access>,
    /// Accesses that have begun and have not ended.
    ongoing: Vec<Access>,
}

/// An earlier use of a cell, a location or an object by another thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlierUse {
    /// The thread's last event before the use, or the event that is the use.
    pub(crate) last: EventId,
    /// Entry of the thread in a clock that includes the use.
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

    /// Adds a cell with the accesses of another, of which it was a part.
    pub(crate) fn split(&mut self, cell: CellId) -> CellId {
        let new = self.add_cell();
        let (before, from_new) = self.cells.split_at_mut(new.index());
        let (old, part) = (&before[cell.index()], &mut from_new[0]);
        part.written = old.written;
        part.reads.clone_from(&old.reads);
        new
    }

    /// Records a write that all earlier accesses happen before.
    pub(crate) fn write(&mut self, cell: CellId, now: Access) {
        let cell = &mut self.cells[cell.index()];
        cell.written = Some(now);
        cell.reads.clear();
    }

    /// Records an access; returns an earlier one that races with it.
    #[inline]
    pub(crate) fn access(&mut self, cell: CellId, now: Access, hb: &[u32]) -> Option<Access> {
        let Races { cells, grants, .. } = self;
        let cell = &mut cells[cell.index()];
        let is_unordered = |first: &Access| {
            first.thread != now.thread && !first.is_before(hb) && !granted(grants, first, hb, now)
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
            [only] if only.thread == now.thread || only.is_before(hb) => Some(only),
            several => several.iter_mut().find(|read| read.thread == now.thread),
        };
        match replaced {
            Some(read) => *read = now,
            None => cell.reads.push(now),
        }
        found
    }

    /// Adds a cell with accesses that came before it was modelled and did not race.
    pub(crate) fn adopt(&mut self, written: Option<Access>, read: Option<Access>) -> CellId {
        let new = self.add_cell();
        let cell = &mut self.cells[new.index()];
        cell.written = written;
        cell.reads.extend(read);
        new
    }

    /// Returns an access of the cell that races with this one, without recording this one.
    pub(crate) fn unordered(&self, cell: CellId, now: Access, hb: &[u32]) -> Option<Access> {
        let cell = &self.cells[cell.index()];
        let reads = if now.writes { &cell.reads[..] } else { &[] };
        let mut earlier = cell.written.iter().chain(reads);
        let found = earlier.find(|first| {
            first.thread != now.thread
                && !first.is_before(hb)
                && !granted(&self.grants, first, hb, now)
        });
        found.copied()
    }

    /// True when an access happens before this one because of a grant.
    pub(crate) fn is_granted(&self, first: &Access, now: Access, hb: &[u32]) -> bool {
        granted(&self.grants, first, hb, now)
    }

    /// Joins the grants of a thread into its clock.
    pub(crate) fn add_granted(&self, thread: ThreadId, clock: &mut [u32]) {
        self.grants.add_to(thread, clock);
    }

    /// Joins a clock into `hb` of all later actions of a thread; `index` is its number of events.
    pub(crate) fn grant_clock(&mut self, to: ThreadId, index: u32, clock: &[u32]) {
        self.grants.add(to, index, clock);
    }

    /// Records the begin of an access that lasts; returns a conflicting one that has not ended.
    pub(crate) fn begin(&mut self, cell: CellId, now: Access) -> Option<Access> {
        let ongoing = &mut self.cells[cell.index()].ongoing;
        let conflicts = |first: &&Access| first.writes || now.writes;
        let found = ongoing.iter().find(conflicts).copied();
        ongoing.push(now);
        found
    }

    /// Ends the last access that the thread has begun, and returns it.
    pub(crate) fn end(&mut self, cell: CellId, thread: ThreadId) -> Option<Access> {
        let ongoing = &mut self.cells[cell.index()].ongoing;
        let last = ongoing.iter().rposition(|one| one.thread == thread)?;
        Some(ongoing.remove(last))
    }

    /// Returns the accesses of the cell that do not happen before this one, whose thread has this
    /// clock.
    pub(crate) fn unordered_uses(&self, cell: CellId, now: Access, hb: &[u32]) -> Vec<EarlierUse> {
        let past = &self.cells[cell.index()];
        let uses = past.written.iter().chain(&past.reads);
        let unordered = uses.filter(|one| one.thread != now.thread && !one.is_before(hb));
        let unordered = unordered.map(|one| EarlierUse {
            // A thread accesses nothing before its first event.
            last: EventId {
                thread: one.thread,
                index: one.index.saturating_sub(1),
            },
            events: one.index + 1,
        });
        unordered.collect()
    }

    /// Makes these uses, and all events that happen before them, happen before all later actions of
    /// a thread.
    pub(crate) fn grant(
        &mut self,
        now: Access,
        uses: &[EarlierUse],
        order: &HappensBefore<EveryEvent>,
    ) {
        let mut clock = Vec::new();
        for &EarlierUse { last, events } in uses {
            let known = order.clock(last);
            clock.resize(known.len(), 0);
            join(&mut clock, &known);
            for granted in self.grants.known_to(last.thread, &known) {
                join(&mut clock, granted);
            }
            let own = &mut clock[last.thread.index()];
            *own = (*own).max(events);
        }
        self.grants.add(now.thread, now.index, &clock);
    }
}

#[cold]
fn granted(grants: &Grants, first: &Access, hb: &[u32], now: Access) -> bool {
    let mut granted = grants.known_to(now.thread, hb);
    granted.any(|clock| first.is_before(clock))
}
