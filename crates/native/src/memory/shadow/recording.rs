//! Records accesses of granules, and reports those that need a cell of the engine.

use raddle_engine::{CellId, LocationId, ThreadId};

use super::{Access, KIND, Now, Shadow};
use crate::execution::{running, shadow_stack};
use crate::memory::blocks::{self, Bad};
use crate::memory::granule::{
    ATOMIC, Granule, GranuleState, LastAccess, NO_THREAD, ORDERED, STATE,
};
use crate::memory::{locations, plain_choices, stacks};

impl Shadow {
    /// Records an access of a granule, or of a part of it.
    #[inline]
    pub(super) fn touch(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
        access: Access,
    ) -> Option<Bad> {
        let is_whole = access.start <= start && start + size <= access.end;
        if is_whole && !self.get(granule).is_split() {
            return self.touch_leaf(granule, start, size, access);
        }
        let halves = self.split(granule, start, size);
        let size = size / 2;
        for (half, start) in [(halves, start), (halves.wrapping_add(1), start + size)] {
            if access.start < start + size
                && start < access.end
                && let Some(bad) = self.touch(half, start, size, access)
            {
                return Some(bad);
            }
        }
        None
    }

    /// Records an access of a granule that has no halves.
    #[inline]
    pub(super) fn touch_leaf(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
        access: Access,
    ) -> Option<Bad> {
        let known = self.get(granule);
        let is_now =
            |last: LastAccess| last.thread == self.now.thread && last.index == self.now.index;
        if is_now(known.write()) || !access.writes && is_now(known.read()) {
            return None;
        }
        self.touch_anew(granule, start, size, access)
    }

    /// Records the running thread's first access since its last event.
    #[inline]
    pub(super) fn touch_anew(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
        access: Access,
    ) -> Option<Bad> {
        if !self.is_checked
            && let Some(bad) = self.check(granule, access)
        {
            return Some(bad);
        }
        let known = self.get(granule);
        let site = match self.site {
            Some(site) => site,
            None => *self.site.insert(shadow_stack::site(access.code)),
        };
        let Now { thread, index, .. } = self.now;
        let now = LastAccess {
            thread,
            index,
            site,
        };
        let can_see = |last: LastAccess| {
            last.thread == thread || last.thread == NO_THREAD || happens_before(last)
        };
        let fits = known.meta & (STATE | ATOMIC) == ORDERED
            && self.cells >= self.max_cells
            && can_see(known.write())
            && can_see(known.read());
        if !fits {
            self.report(granule, start, size, access, now.site);
        }
        match access.writes {
            true => known.set_write(now),
            false => known.set_read(now),
        }
        None
    }

    /// Returns the error in an access by the running thread, one of whose granules this is, if it is of memory that
    /// is not live.
    #[inline]
    pub(super) fn check(&mut self, granule: *mut Granule, access: Access) -> Option<Bad> {
        let Access { start, end, .. } = access;
        if stacks::is_in(start, self.now.end_of_stack) {
            self.is_checked = true;
            return None;
        }
        if stacks::may_contain(start)
            && let Some(bad) = stacks::check(start, self.now.end_of_stack)
        {
            return Some(bad);
        }
        // A granule of a freed block is empty.
        let known = self.get(granule);
        if known.write_thread == NO_THREAD && known.read_thread == NO_THREAD {
            self.is_checked = true;
            return blocks::check(start, end - start);
        }
        None
    }

    /// Returns the cell of a granule.
    #[cold]
    pub(super) fn cell(&mut self, granule: *mut Granule, start: usize) -> CellId {
        let known = self.get(granule);
        if let GranuleState::Cell(cell) = known.state() {
            return cell;
        }
        let past = |last: LastAccess| {
            let thread = ThreadId::new(last.thread.into());
            (last.thread != NO_THREAD).then_some((thread, last.index, last.site))
        };
        let last = [past(known.write()), past(known.read())];
        let cell = running().adopt_cell(KIND, start, last);
        self.cells += 1;
        known.set_state(GranuleState::Cell(cell));
        cell
    }

    /// Reports an access to the engine.
    #[cold]
    pub(super) fn report(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
        access: Access,
        site: usize,
    ) {
        let Access { writes, frees, .. } = access;
        let cell = self.cell(granule, start);
        let mut is_race = running().access(cell, writes, site);
        if self.get(granule).meta & ATOMIC != 0 && !frees {
            let is_there = |location: LocationId| locations::covers(location, start..start + size);
            is_race |= running().check_plain(cell, writes, site, is_there);
        }
        if is_race {
            plain_choices::found(start);
        }
    }

    /// Records that the running thread's last operation was an atomic access of these bytes.
    pub(super) fn touch_atomically(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
        bytes: std::ops::Range<usize>,
    ) {
        let is_whole = bytes.start <= start && start + size <= bytes.end;
        if !is_whole || self.get(granule).is_split() {
            let halves = self.split(granule, start, size);
            let size = size / 2;
            for (half, start) in [(halves, start), (halves.wrapping_add(1), start + size)] {
                if bytes.start < start + size && start < bytes.end {
                    self.touch_atomically(half, start, size, bytes.clone());
                }
            }
            return;
        }
        let known = self.get(granule);
        known.meta |= ATOMIC;
        let thread = self.now.thread;
        let is_new = |last: LastAccess| {
            last.thread != thread && last.thread != NO_THREAD && !happens_before(last)
        };
        if is_new(known.write())
            || is_new(known.read())
            || matches!(known.state(), GranuleState::Cell(_))
        {
            let cell = self.cell(granule, start);
            if running().check_atomic(cell) {
                plain_choices::found(start);
            }
        }
    }
}

#[cold]
fn happens_before(last: LastAccess) -> bool {
    running().happens_before(ThreadId::new(last.thread.into()), last.index)
}
