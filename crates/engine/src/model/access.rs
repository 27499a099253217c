//! Accesses of cells: memory whose accesses are checked for data races.

use crate::base::ids::{CellId, SiteId, ThreadId};

/// An access of a cell, between two events of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Thread of the access.
    pub thread: ThreadId,
    /// Number of events of the thread before the access.
    pub index: u32,
    /// True when the access may have written.
    pub writes: bool,
    /// True for an allocation; then the site is that of the thread's last event.
    pub made: bool,
    /// True for an atomic access of memory that others access without atomics.
    pub atomic: bool,
    /// Place in the user's source.
    pub site: SiteId,
    /// Number of events of the execution before the access.
    pub after: usize,
}

/// Two accesses of one cell, one of them a write, that conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The cell.
    pub cell: CellId,
    /// The earlier access in this run.
    pub first: Access,
    /// The later access.
    pub second: Access,
    /// True when the first access had not ended.
    pub overlap: bool,
}

impl Access {
    /// True when the access happens before an action with this clock: the clock includes the
    /// thread's next event.
    pub(crate) fn is_before(&self, clock: &[u32]) -> bool {
        let seen = clock.get(self.thread.index());
        seen.is_some_and(|&seen| seen > self.index)
    }
}
