//! Accesses of cells: memory whose uses are watched.

use crate::base::ids::{CellId, SiteId, ThreadId};

/// An access of a cell, between two events of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Who accessed it.
    pub thread: ThreadId,
    /// How many events the thread had by then.
    pub index: u32,
    /// Whether it may have been changed.
    pub writes: bool,
    /// Whether its memory was only asked for; then the place is that of the thread's last event.
    pub made: bool,
    /// Whether it is an atomic access, of memory that others access plainly.
    pub atomic: bool,
    /// Where in the user's source.
    pub site: SiteId,
    /// How many events the execution had by then.
    pub after: usize,
}

/// Two accesses of one cell, one of them a write, that should not be as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The cell.
    pub cell: CellId,
    /// The access that came first in this run.
    pub first: Access,
    /// The other one.
    pub second: Access,
    /// Whether the first was not over.
    pub overlap: bool,
}

impl Access {
    /// Whether the clock includes what comes directly after it.
    pub(crate) fn is_before(&self, clock: &[u32]) -> bool {
        let seen = clock.get(self.thread.index());
        seen.is_some_and(|&seen| seen > self.index)
    }
}
