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

    /// Adds an event with its `hb`.
    fn push(&mut self, event: EventId, hb: &[u32]);

    /// Keeps `hb` of the event just pushed, because another event may acquire it.
    fn keep(&mut self, event: EventId, hb: &[u32]);

    /// Returns `hb` of an event that was kept.
    fn hb(&self, event: EventId, width: usize) -> &[u32];

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
    fn push(&mut self, _event: EventId, _hb: &[u32]) {}

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
    fn hb(&self, event: EventId, width: usize) -> &[u32] {
        let kept = &self.kept[event.thread.index()];
        let position = kept.binary_search_by_key(&event.index, |&(index, _)| index);
        let (_, row) = kept[position.expect("raddle: an unknown release; please report this")];
        &self.rows[row as usize * width..][..width]
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
            (Some(_), released) => join(clock, released),
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
#[derive(Debug, Default)]
pub(crate) struct EveryEvent {
    /// By thread and by index of the event in its thread.
    positions: Vec<Vec<u32>>,
    /// Number of threads; the other elements of `positions` are kept for their memory.
    threads: usize,
    /// By position.
    hb: Clocks,
    /// By position: the row of `release_clocks` that the event has, or `NO_RELEASE`.
    release_rows: Vec<u32>,
    /// Only writes that release something have a row, and those that merely continue a release sequence
    /// share its row.
    release_clocks: Clocks,
}

const NO_RELEASE: u32 = u32::MAX;

impl EveryEvent {
    #[inline]
    pub(super) fn position(&self, event: EventId) -> usize {
        self.positions[event.thread.index()][event.index as usize] as usize
    }

    pub(super) fn positions(&self, thread: ThreadId) -> &[u32] {
        &self.positions[thread.index()]
    }

    #[inline]
    pub(super) fn release_clock_of(&self, write: EventId, width: usize) -> &[u32] {
        match self.release_rows[self.position(write)] {
            NO_RELEASE => &[],
            row => &self.release_clocks[row as usize * width..][..width],
        }
    }
}

impl History for EveryEvent {
    fn clear(&mut self) {
        self.threads = 0;
        self.hb.clear();
        self.release_rows.clear();
        self.release_clocks.clear();
    }

    fn add_thread(&mut self) {
        if self.threads == self.positions.len() {
            self.positions.push(Vec::new());
        }
        self.positions[self.threads].clear();
        self.threads += 1;
    }

    fn widen(&mut self, old: usize, new: usize) {
        widen(&mut self.hb, old, new);
        widen(&mut self.release_clocks, old, new);
    }

    #[inline]
    fn push(&mut self, event: EventId, hb: &[u32]) {
        self.positions[event.thread.index()].push(self.release_rows.len() as u32);
        self.hb.extend_from_slice(hb);
        self.release_rows.push(NO_RELEASE);
    }

    #[inline]
    fn keep(&mut self, _event: EventId, _hb: &[u32]) {}

    #[inline]
    fn hb(&self, event: EventId, width: usize) -> &[u32] {
        &self.hb[self.position(event) * width..][..width]
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
        let continued = continued.map_or(NO_RELEASE, |it| self.release_rows[self.position(it)]);
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
        if let Some(last) = self.release_rows.last_mut() {
            *last = row;
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
