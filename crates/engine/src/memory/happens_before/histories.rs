//! Storage for the clocks of events: of all events, or only those that reads of the latest write
//! need.

use std::fmt::Debug;

use super::recorded::WriteOf;
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::{Clocks, join, row, widen};

/// Stores clocks of performed events.
pub(crate) trait History: Debug + Default {
    /// Removes all events.
    fn clear(&mut self);

    fn add_thread(&mut self);

    /// Makes room for `new` entries in every clock.
    fn widen(&mut self, old: usize, new: usize);

    /// Adds an event with its `hb`. The version is the same as for the thread's last event if no entry of
    /// another thread has changed since.
    fn push(&mut self, event: EventId, hb: &[u32], version: u32);

    /// Keeps `hb` of the event just pushed, because another event may acquire it.
    fn keep(&mut self, event: EventId, hb: &[u32]);

    /// Joins `hb` of an event that was kept into a clock; returns true if that changes the clock.
    fn join_hb(&self, event: EventId, width: usize, clock: &mut [u32]) -> bool;

    /// Sets the release clock of a write, which is the event just pushed. The clock is `released`,
    /// which may be empty, joined with the release clock of `continued`.
    fn set_release_clock(
        &mut self,
        write: WriteOf,
        released: &[u32],
        continued: Option<WriteOf>,
        width: usize,
    );

    /// Returns the release clock of a write; may be empty if it releases nothing.
    fn release_clock(&self, write: WriteOf, width: usize) -> &[u32];
}

/// The release clock of the latest write of each location, for executions whose reads take that
/// write. Cheap enough to be kept whenever there are cells whose accesses may race.
#[derive(Debug, Default)]
pub(crate) struct LatestWrites {
    /// By location.
    release_clocks: Clocks,
    /// By thread, index and row of the events that were kept.
    kept: Vec<Vec<(u32, u32)>>,
    rows: Clocks,
    /// Number of rows.
    count: u32,
}

impl History for LatestWrites {
    fn clear(&mut self) {
        self.release_clocks.clear();
        self.kept.iter_mut().for_each(Vec::clear);
        self.rows.clear();
        self.count = 0;
    }

    #[inline]
    fn add_thread(&mut self) {}

    fn widen(&mut self, old: usize, new: usize) {
        widen(&mut self.release_clocks, old, new);
        widen(&mut self.rows, old, new);
    }

    #[inline]
    fn push(&mut self, _event: EventId, _hb: &[u32], _version: u32) {}

    #[inline]
    fn keep(&mut self, event: EventId, hb: &[u32]) {
        if self.kept.len() <= event.thread.index() {
            self.kept.resize_with(event.thread.index() + 1, Vec::new);
        }
        self.kept[event.thread.index()].push((event.index, self.count));
        self.rows.extend_from_slice(hb);
        self.count += 1;
    }

    #[inline]
    fn join_hb(&self, event: EventId, width: usize, clock: &mut [u32]) -> bool {
        let kept = &self.kept[event.thread.index()];
        let position = kept.binary_search_by_key(&event.index, |&(index, _)| index);
        let (_, row) = kept[position.expect("raddle: an unknown release; please report this")];
        join(clock, &self.rows[row as usize * width..][..width])
    }

    #[inline]
    fn set_release_clock(
        &mut self,
        write: WriteOf,
        released: &[u32],
        continued: Option<WriteOf>,
        width: usize,
    ) {
        let clock = row(&mut self.release_clocks, write.location.index(), width);
        match (continued, released) {
            (Some(_), released) => {
                join(clock, released);
            }
            (None, []) => clock.fill(0),
            (None, released) => clock.copy_from_slice(released),
        }
    }

    #[inline]
    fn release_clock(&self, write: WriteOf, width: usize) -> &[u32] {
        let start = write.location.index() * width;
        self.release_clocks.get(start..start + width).unwrap_or(&[])
    }
}

/// The clocks of every event. A *position* is the number of an event in the order of the run.
///
/// Events of a thread share a row until the thread acquires something new: they differ only in the entry of
/// the thread itself, which is known without the row. So an event needs no memory for each thread.
#[derive(Debug, Default)]
pub(crate) struct EveryEvent {
    /// By thread; those behind `threads` are kept for their memory.
    by_thread: Vec<OwnEvents>,
    /// Number of threads.
    threads: usize,
    /// By position.
    rows: Vec<EventRows>,
    /// Clocks of events but for the entries of their own threads.
    hb: Clocks,
    /// Only writes that release something have a row, and those that merely continue a release sequence
    /// share its row.
    release_clocks: Clocks,
}

const NO_RELEASE: u32 = u32::MAX;

/// The events of one thread.
#[derive(Debug, Default)]
struct OwnEvents {
    /// By index of the event in its thread.
    positions: Vec<u32>,
    /// Version of the clock at the last event, and the row of `hb` of that event; version 0 before the first.
    version: u32,
    row: u32,
}

/// The clocks of one event.
#[derive(Clone, Copy, Debug)]
struct EventRows {
    /// Row of `hb`.
    hb: u32,
    /// Row of `release_clocks`, or `NO_RELEASE`.
    release: u32,
}

impl EveryEvent {
    #[inline]
    pub(super) fn position(&self, event: EventId) -> usize {
        self.by_thread[event.thread.index()].positions[event.index as usize] as usize
    }

    pub(super) fn positions(&self, thread: ThreadId) -> &[u32] {
        &self.by_thread[thread.index()].positions
    }

    /// Returns `hb` of an event; the entry of the event's own thread may be that of an earlier event.
    #[inline]
    pub(super) fn row(&self, event: EventId, width: usize) -> &[u32] {
        let row = self.rows[self.position(event)].hb;
        &self.hb[row as usize * width..][..width]
    }

    #[inline]
    pub(super) fn release_clock_of(&self, write: EventId, width: usize) -> &[u32] {
        match self.rows[self.position(write)].release {
            NO_RELEASE => &[],
            row => &self.release_clocks[row as usize * width..][..width],
        }
    }
}

impl History for EveryEvent {
    fn clear(&mut self) {
        self.threads = 0;
        self.hb.clear();
        self.rows.clear();
        self.release_clocks.clear();
    }

    fn add_thread(&mut self) {
        if self.threads == self.by_thread.len() {
            self.by_thread.push(OwnEvents::default());
        }
        let own = &mut self.by_thread[self.threads];
        own.positions.clear();
        own.version = 0;
        self.threads += 1;
    }

    fn widen(&mut self, old: usize, new: usize) {
        widen(&mut self.hb, old, new);
        widen(&mut self.release_clocks, old, new);
    }

    #[inline]
    fn push(&mut self, event: EventId, hb: &[u32], version: u32) {
        let own = &mut self.by_thread[event.thread.index()];
        own.positions.push(self.rows.len() as u32);
        if own.version != version {
            own.version = version;
            own.row = (self.hb.len() / hb.len()) as u32;
            self.hb.extend_from_slice(hb);
        }
        self.rows.push(EventRows {
            hb: own.row,
            release: NO_RELEASE,
        });
    }

    #[inline]
    fn keep(&mut self, _event: EventId, _hb: &[u32]) {}

    #[inline]
    fn join_hb(&self, event: EventId, width: usize, clock: &mut [u32]) -> bool {
        let mut changes = join(clock, self.row(event, width));
        let own = &mut clock[event.thread.index()];
        if *own <= event.index {
            *own = event.index + 1;
            changes = true;
        }
        changes
    }

    #[inline]
    fn set_release_clock(
        &mut self,
        _write: WriteOf,
        released: &[u32],
        continued: Option<WriteOf>,
        width: usize,
    ) {
        let continued = continued.and_then(|it| it.event);
        let continued = continued.map_or(NO_RELEASE, |it| self.rows[self.position(it)].release);
        let mut row = continued;
        if !released.is_empty() {
            let start = self.release_clocks.len();
            row = (start / width) as u32;
            self.release_clocks.extend_from_slice(released);
            if continued != NO_RELEASE {
                let (before, own) = self.release_clocks.split_at_mut(start);
                join(own, &before[continued as usize * width..][..width]);
            }
        }
        if let Some(last) = self.rows.last_mut() {
            last.release = row;
        }
    }

    #[inline]
    fn release_clock(&self, write: WriteOf, width: usize) -> &[u32] {
        match write.event {
            Some(event) => self.release_clock_of(event, width),
            None => &[],
        }
    }
}
