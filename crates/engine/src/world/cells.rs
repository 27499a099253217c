//! Cells: memory whose accesses are checked for data races. An access is not an event, and no
//! thread waits for it.

use super::strategy::Dispatch;
use super::{State, Step, World};
use crate::base::ids::{CellId, EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::memory::happens_before::HappensBefore;
use crate::memory::races::EarlierUse;
use crate::model::access::{Access, Conflict};
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::fault::{MemoryError, Moment};
use crate::model::operation::Operation;

/// A point in the program order of a thread, between two events.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// The thread.
    pub thread: ThreadId,
    /// Number of its events before that point.
    pub index: u32,
    /// Site of the point.
    pub site: SiteId,
}

impl State {
    /// Returns the clock of the events that happen before a thread's next one. Clocks must be kept.
    #[inline]
    fn hb(&self, thread: ThreadId) -> &[u32] {
        match self.views.is_on() {
            true => self.views.hb(thread),
            false => self.order.hb(thread),
        }
    }

    /// Returns a name of the thread that does not depend on the schedule.
    pub fn fingerprint(&self, thread: ThreadId) -> u64 {
        self.threads[thread.index()].fingerprint
    }
}

/// True for an atomic operation that wrote its location.
fn has_written(event: &Event) -> bool {
    match event.operation {
        Operation::Store { .. } | Operation::Update { .. } => event.writes(),
        _ => false,
    }
}

/// Returns an atomic operation as an access.
fn atomic(event: &Event) -> Access {
    Access {
        thread: event.id.thread,
        index: event.id.index,
        writes: has_written(event),
        made: false,
        atomic: true,
        site: event.site,
        after: 0,
    }
}

impl<D: Dispatch> World<D> {
    /// Adds a cell.
    pub fn add_cell(&mut self) -> CellId {
        self.state.execution.cells += 1;
        self.state.races.add_cell()
    }

    /// Makes a part of a cell a cell of its own, with the accesses of the whole.
    pub fn split_cell(&mut self, cell: CellId) -> CellId {
        self.state.execution.cells += 1;
        self.state.races.split(cell)
    }

    /// Records a read or write of a cell by the running thread; true when it races with an earlier
    /// access.
    #[inline]
    pub fn access_cell(
        &mut self,
        thread: ThreadId,
        cell: CellId,
        writes: bool,
        site: SiteId,
    ) -> bool {
        let now = self.access(thread, writes, site);
        self.check_order(cell, now)
    }

    /// Sets the value of the last store to a location, which the program has performed by itself.
    pub fn set_stored_value(&mut self, location: LocationId, written: u64) {
        let execution = &mut self.state.execution;
        execution.locations[location.index()].value = written;
        let stores = execution.events.iter_mut().rev();
        let mut values = stores.filter_map(|event| match &mut event.operation {
            Operation::Store {
                location: here,
                value,
                ..
            } if *here == location => Some(value),
            _ => None,
        });
        if let Some(value) = values.next() {
            *value = Some(written);
        }
    }

    /// Returns the number of events of a thread.
    #[inline]
    pub fn events_of(&self, thread: ThreadId) -> u32 {
        self.state.threads[thread.index()].events
    }

    /// True when an action of another thread, which had `index` events then, happens before the
    /// present action of this thread.
    pub fn happens_before(&mut self, thread: ThreadId, other: ThreadId, index: u32) -> bool {
        self.keep_order();
        let seen = self.state.hb(thread).get(other.index());
        seen.is_some_and(|&seen| seen > index)
    }

    /// True when the other thread's action happens before this thread's present one, by events or
    /// by grants.
    pub fn happens_before_or_granted(
        &mut self,
        thread: ThreadId,
        other: ThreadId,
        index: u32,
    ) -> bool {
        if other == thread || self.happens_before(thread, other, index) {
            return true;
        }
        let site = self.state.pending_site(thread);
        let now = self.access(thread, true, site);
        let first = Access {
            thread: other,
            index,
            ..now
        };
        let seen = self.state.hb(thread);
        self.state.races.is_granted(&first, now, seen)
    }

    /// Sets a clock to `hb` of a thread, its present action included. Grants are not part of it.
    pub fn hb(&mut self, thread: ThreadId, clock: &mut Vec<u32>) {
        self.keep_order();
        clock.clear();
        clock.extend_from_slice(self.state.hb(thread));
        clock[thread.index()] = self.state.threads[thread.index()].events + 1;
    }

    /// Sets a clock to the one that an action of a thread releases if the action is not an event:
    /// `hb` joined with all grants.
    pub fn release_clock(&mut self, thread: ThreadId, clock: &mut Vec<u32>) {
        self.hb(thread, clock);
        self.state.races.add_granted(thread, clock);
    }

    /// Joins a released clock into `hb` of all later actions of a thread.
    pub fn acquire(&mut self, thread: ThreadId, clock: &[u32]) {
        self.keep_order();
        let seen = self.state.hb(thread);
        let is_new = clock.iter().enumerate().any(|(other, &count)| {
            other != thread.index() && seen.get(other).is_none_or(|&seen| seen < count)
        });
        if is_new {
            let index = self.state.threads[thread.index()].events;
            self.state.races.grant_clock(thread, index, clock);
        }
    }

    /// Adds a cell whose last write, and last read since then, did not race with any access of it.
    pub fn adopt_cell(&mut self, write: Option<Past>, read: Option<Past>) -> CellId {
        self.state.execution.cells += 1;
        self.positions.update(&self.state.execution.events);
        let access = |past: Past, writes| Access {
            thread: past.thread,
            index: past.index,
            writes,
            made: false,
            atomic: false,
            site: past.site,
            after: self.after(past),
        };
        let written = write.map(|past| access(past, true));
        let read = read.map(|past| access(past, false));
        self.state.races.adopt(written, read)
    }

    /// Returns the number of events of the execution at that point of a thread: no other thread
    /// runs between an event of a thread and its next accesses.
    fn after(&self, past: Past) -> usize {
        let last = (past.index as usize).checked_sub(1);
        let last = last.and_then(|last| self.positions.of(past.thread).get(last));
        last.map_or(0, |&last| last as usize + 1)
    }

    /// Checks the running thread's last event, an atomic access of the memory of a cell; true when
    /// it races with an access that is not atomic. Atomic accesses do not race with each other.
    pub fn check_atomic(&mut self, thread: ThreadId, cell: CellId) -> bool {
        let mut events = self.state.execution.events.iter();
        let Some(last) = events.rfind(|event| event.id.thread == thread) else {
            return false;
        };
        let (writes, site) = (has_written(last), last.site);
        let mut now = self.access(thread, writes, site);
        now.index = now.index.saturating_sub(1);
        now.atomic = true;
        let seen = self.state.hb(thread);
        let found = self.state.races.unordered(cell, now, seen);
        if let Some(first) = found {
            self.add_conflict(cell, first, now, false);
        }
        found.is_some()
    }

    /// Checks an access that is not atomic, of a cell whose memory belongs to some locations; true
    /// when it races with an atomic access of these.
    pub fn check_plain(
        &mut self,
        thread: ThreadId,
        cell: CellId,
        writes: bool,
        site: SiteId,
        is_there: impl Fn(LocationId) -> bool,
    ) -> bool {
        let now = self.access(thread, writes, site);
        let seen = self.state.hb(thread);
        let events = &self.state.execution.events;
        let conflicts = |event: &Event| {
            let matters = writes || has_written(event);
            matters
                && event.operation.location().is_some_and(&is_there)
                && !self.state.races.is_granted(&atomic(event), now, seen)
        };
        self.positions.update(events);
        let others = self.positions.since(seen);
        let others = others.filter(|&(other, _)| other != thread);
        let found = others.filter_map(|(_, unseen)| {
            let mut unseen = unseen.iter().map(|&at| at as usize);
            unseen.find(|&at| conflicts(&events[at]))
        });
        let found = found.min();
        if let Some(at) = found {
            let mut first = atomic(&events[at]);
            first.after = at + 1;
            self.add_conflict(cell, first, now, false);
        }
        found.is_some()
    }

    /// True when every access of a cell is recorded.
    pub fn keeps_accesses(&self) -> bool {
        self.keeps_accesses
    }

    /// Begins a read or write of a cell by the running thread, which may perform other operations
    /// before the access ends.
    #[inline]
    pub fn begin_access(&mut self, thread: ThreadId, cell: CellId, writes: bool, site: SiteId) {
        let now = self.access(thread, writes, site);
        self.check_order(cell, now);
        if let Some(first) = self.state.races.begin(cell, now) {
            self.add_conflict(cell, first, now, true);
        }
    }

    /// Ends, by the running thread, the last access of the cell that a thread has begun.
    #[inline]
    pub fn end_access(&mut self, thread: ThreadId, begun_by: ThreadId, cell: CellId) {
        let index = self.events_of(thread);
        self.end_access_at(thread, index, begun_by, cell);
    }

    /// Ends the access as if the thread had had this many events when it did.
    #[inline]
    pub fn end_access_at(
        &mut self,
        thread: ThreadId,
        index: u32,
        begun_by: ThreadId,
        cell: CellId,
    ) {
        let Some(begun) = self.state.races.end(cell, begun_by) else {
            return;
        };
        let now = Access {
            index,
            ..self.access(thread, begun.writes, begun.site)
        };
        if now.index != begun.index || now.thread != begun.thread {
            self.check_order(cell, now);
        }
    }

    /// Records that the running thread has exclusive access to the cell. Returns, for each other thread
    /// with uses that are not known to happen before, its last event before the use.
    pub fn own_cell(
        &mut self,
        thread: ThreadId,
        cell: CellId,
        site: Option<SiteId>,
    ) -> Vec<EventId> {
        let site = site.unwrap_or_else(|| self.state.pending_site(thread));
        let now = self.access(thread, true, site);
        let state = &self.state;
        let uses = state.races.unordered_uses(cell, now, state.hb(thread));
        self.grant(now, &uses);
        self.state.races.write(cell, now);
        uses.iter().map(|used| used.last).collect()
    }

    /// Makes these uses happen before all later actions of a thread.
    #[inline]
    fn grant(&mut self, now: Access, uses: &[EarlierUse]) {
        if !uses.is_empty() {
            let order = HappensBefore::of(&self.state.execution);
            self.state.races.grant(now, uses, &order);
        }
    }

    /// Records that the running thread has exclusive access to a location or object that these
    /// events used.
    fn own_uses(&mut self, thread: ThreadId, uses: impl Fn(&Event) -> bool) {
        if self.has_cells {
            let now = self.access(thread, true, self.state.pending_site(thread));
            let seen = self.state.hb(thread);
            let is_unseen = |id: EventId| seen[id.thread.index()] <= id.index;
            let used = self.state.execution.events.iter().filter(|it| uses(it));
            let used = used.map(|event| event.id).filter(|&id| is_unseen(id));
            let uses = used
                .filter(|id| id.thread != thread)
                .map(|last| EarlierUse {
                    last,
                    events: last.index + 1,
                });
            let uses: Vec<_> = uses.collect();
            self.grant(now, &uses);
        }
    }

    /// Records that an unused cell lies in memory that a thread allocated at that moment.
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
                atomic: false,
                site: last.site,
                after,
            };
            self.state.races.write(cell, made);
        }
    }

    /// Returns the present moment of a thread.
    pub fn moment(&self, thread: ThreadId) -> Moment {
        let after = self.state.execution.events.len();
        Moment { thread, after }
    }

    /// Records that the running thread has exclusive access to the location.
    pub fn own_location(&mut self, thread: ThreadId, location: LocationId) {
        self.own_uses(thread, |event| event.operation.location() == Some(location));
    }

    /// Records that the running thread has exclusive access to the object.
    pub fn own_object(&mut self, thread: ThreadId, object: ObjectId) {
        self.own_uses(thread, |event| event.operation.object() == Some(object));
    }

    /// Ends the execution, because a thread used memory that was freed, dropped or never allocated.
    #[cold]
    pub fn stop_with(&mut self, error: MemoryError) -> Step {
        self.state.execution.memory_error.get_or_insert(error);
        self.stop(Ending::MemoryError)
    }

    /// Returns an access of the thread at its present point.
    #[inline]
    fn access(&mut self, thread: ThreadId, writes: bool, site: SiteId) -> Access {
        self.keep_order();
        Access {
            thread,
            index: self.state.threads[thread.index()].events,
            writes,
            made: false,
            atomic: false,
            site,
            after: self.state.execution.events.len(),
        }
    }

    /// Keeps clocks from now on.
    #[inline]
    fn keep_order(&mut self) {
        self.has_cells = true;
        if !self.state.order.is_on() && !self.state.views.is_on() {
            self.catch_up();
        }
    }

    /// Computes the clocks of the execution so far, which were not kept while there were no cells.
    #[cold]
    fn catch_up(&mut self) {
        self.state.order.catch_up(&self.state.execution);
    }

    /// Sets whether every access of a cell is recorded, for reports that show more than the first
    /// conflict.
    pub fn keep_accesses(&mut self, keep: bool) {
        self.keeps_always = keep;
        self.keeps_accesses = keep;
    }

    /// Records an access; true when it races with an earlier one.
    #[inline]
    fn check_order(&mut self, cell: CellId, now: Access) -> bool {
        if self.keeps_accesses {
            self.state.execution.accesses.push((cell, now));
        }
        let State {
            views,
            order,
            races,
            ..
        } = &mut self.state;
        let seen = match views.is_on() {
            true => views.hb(now.thread),
            false => order.hb(now.thread),
        };
        let found = races.access(cell, now, seen);
        if let Some(first) = found {
            self.add_conflict(cell, first, now, false);
        }
        found.is_some()
    }

    /// Records a conflict. Only the first is kept, because later ones may follow from it.
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
