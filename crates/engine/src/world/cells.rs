//! Cells: memory that is only watched. An access is no event and nobody waits for it.

use super::{Ending, State, Step, World};
use crate::check::memory_error::{MemoryError, Moment};
use crate::event::{CellId, LocationId, ObjectId, SiteId, ThreadId};
use crate::memory::races::{Access, Conflict};

impl State {
    /// Names the thread whatever the schedule.
    pub fn fingerprint(&self, thread: ThreadId) -> u64 {
        self.threads[thread.index()].fingerprint
    }
}

impl World {
    /// Makes a cell known.
    pub fn add_cell(&mut self) -> CellId {
        self.state.execution.cells += 1;
        self.state.races.add_cell()
    }

    /// The running thread reads or writes a cell, and that is all.
    #[inline]
    pub fn access_cell(&mut self, thread: ThreadId, cell: CellId, writes: bool, site: SiteId) {
        let now = self.access(thread, writes, site);
        self.check_order(cell, now);
    }

    /// The running thread begins to read or write a cell, and may do something else before that is
    /// over.
    #[inline]
    pub fn begin_access(&mut self, thread: ThreadId, cell: CellId, writes: bool, site: SiteId) {
        let now = self.access(thread, writes, site);
        self.check_order(cell, now);
        if let Some(first) = self.state.races.begin(cell, now) {
            self.add_conflict(cell, first, now, true);
        }
    }

    /// What the running thread began to do to the cell last is over.
    #[inline]
    pub fn end_access(&mut self, thread: ThreadId, cell: CellId) {
        let Some(begun) = self.state.races.end(cell, thread) else {
            return;
        };
        let now = self.access(thread, begun.writes, begun.site);
        if now.index != begun.index {
            self.check_order(cell, now);
        }
    }

    /// The running thread has the cell alone.
    pub fn own_cell(&mut self, thread: ThreadId, cell: CellId, site: Option<SiteId>) {
        let site = site.unwrap_or_else(|| self.state.pending_site(thread));
        let now = self.access(thread, true, site);
        self.state.races.own(cell, now, &self.state.views);
    }

    /// The cell, which nobody has used, is in memory that a thread asked for at that time.
    pub fn make_cell(&mut self, cell: CellId, by: Moment) {
        let Moment { thread, after } = by;
        let execution = &self.state.execution;
        let mut before = execution.events[..after.min(execution.events.len())].iter();
        if let Some(last) = before.rfind(|event| event.id.thread == thread) {
            let made = Access {
                thread,
                index: last.id.index + 1,
                writes: true,
                made: true,
                site: last.site,
                after,
            };
            self.state.races.make(cell, made);
        }
    }

    /// Now, for a thread.
    pub fn moment(&self, thread: ThreadId) -> Moment {
        let after = self.state.execution.events.len();
        Moment { thread, after }
    }

    /// The running thread has the location alone.
    pub fn own_location(&mut self, thread: ThreadId, location: LocationId) {
        if self.has_cells {
            let now = self.access(thread, true, self.state.pending_site(thread));
            let state = &mut self.state;
            let races = &mut state.races;
            races.own_uses(now, &state.execution, &state.views, |event| {
                event.operation.location() == Some(location)
            });
        }
    }

    /// The running thread has the object alone.
    pub fn own_object(&mut self, thread: ThreadId, object: ObjectId) {
        if self.has_cells {
            let now = self.access(thread, true, self.state.pending_site(thread));
            let state = &mut self.state;
            let races = &mut state.races;
            races.own_uses(now, &state.execution, &state.views, |event| {
                event.operation.object() == Some(object)
            });
        }
    }

    /// A thread has used memory that was not there: the execution is over.
    #[cold]
    pub fn stop_with(&mut self, error: MemoryError) -> Step {
        self.state.execution.memory_error.get_or_insert(error);
        self.stop(Ending::MemoryError)
    }

    /// An access that happens now.
    #[inline]
    fn access(&mut self, thread: ThreadId, writes: bool, site: SiteId) -> Access {
        self.has_cells = true;
        if !self.state.views.has_clocks() {
            self.catch_up();
        }
        Access {
            thread,
            index: self.state.threads[thread.index()].events,
            writes,
            made: false,
            site,
            after: self.state.execution.events.len(),
        }
    }

    /// Nobody has kept clocks in this execution, because there were no cells.
    #[cold]
    fn catch_up(&mut self) {
        self.state.views.catch_up(&self.state.execution);
    }

    #[inline]
    fn check_order(&mut self, cell: CellId, now: Access) {
        if let Some(first) = self.state.races.access(cell, now, &self.state.views) {
            self.add_conflict(cell, first, now, false);
        }
    }

    /// The first is the one to look at: what comes later may follow from it.
    #[cold]
    fn add_conflict(&mut self, cell: CellId, first: Access, second: Access, overlap: bool) {
        self.state.execution.conflict.get_or_insert(Conflict {
            cell,
            first,
            second,
            overlap,
        });
    }
}
