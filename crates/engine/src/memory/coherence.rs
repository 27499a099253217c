//! Coherence of one location: the order of its writes, and the writes that a thread may still read.
//!
//! The *rank* of a write is its number in coherence order; the initial value has rank 0. An access
//! has a rank: a read that of its source, a write its own. By the coherence axioms of C11 no access
//! may have a lower rank than one that happens before it. The *floor* of a thread is the greatest
//! rank of all accesses that happen before its next event. It is a lower bound for the source of
//! its next read, and for the write that its next write follows.
//!
//! Floors are cached. A thread's own accesses raise its floor as they are recorded. Accesses of
//! others count once they happen before the thread's next event, which changes the version of its
//! clock.
//!
//! A write that is placed before others changes their ranks, but not their *numbers*: the number of a
//! write is that of its arrival. Accesses and floors are kept as numbers, so that such a write has a cost
//! only for the writes after it, not for every thread.

use std::cell::Cell;

use crate::base::ids::{EventId, ThreadId};

/// One write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) id: EventId,
    pub(super) value: u64,
    /// True for a read-modify-write: it directly follows its source in coherence order, and no
    /// later write may come between the two.
    pub(super) update: bool,
}

/// The writes of a location were recorded in this order, from 1; 0 is the initial value.
pub(super) type Number = u32;

/// One access of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    /// Index of the event in its thread.
    index: u32,
    /// Its source, or its own write.
    write: Number,
}

/// A lower bound of a thread's floor, and the floor itself while the thread's clock has this version.
#[derive(Clone, Copy, Debug, Default)]
struct Floor {
    /// 0 before the floor was first computed.
    version: u32,
    write: Number,
}

/// The vector clock of a thread, and a version that changes whenever the clock includes more events of
/// other threads. Versions start at 1.
#[derive(Clone, Copy)]
pub(super) struct VersionedClock<'a> {
    pub(super) clock: &'a [u32],
    pub(super) version: u32,
}

/// Writes and accesses of one location.
#[derive(Debug, Default)]
pub(super) struct Coherence {
    pub(super) initial: u64,
    /// By number, but for the initial value.
    writes: Vec<Write>,
    /// By number, but for the initial value.
    ranks: Vec<u32>,
    /// Numbers of the writes in coherence order.
    order: Vec<Number>,
    /// By thread, the first of its accesses with each rank above 0, in program order. Ranks increase along a
    /// list.
    accesses: Vec<Vec<Access>>,
    /// By thread, the last of these; the initial value if there is none. A separate list, because
    /// computing a floor reads all of them.
    last: Vec<Access>,
    /// By thread; has the length of `last`.
    floors: Vec<Cell<Floor>>,
    /// The coherence-last write that is no update, or 0.
    last_store: Number,
}

impl Coherence {
    /// Removes all writes and accesses.
    pub(super) fn clear(&mut self) {
        self.writes.clear();
        self.ranks.clear();
        self.order.clear();
        self.accesses.iter_mut().for_each(Vec::clear);
        self.last.clear();
        self.floors.clear();
        self.last_store = 0;
    }

    /// Returns the rank of the coherence-last write.
    #[inline]
    pub(super) fn top(&self) -> u32 {
        self.order.len() as u32
    }

    /// Returns the write of this rank; `None` for the initial value.
    #[inline]
    pub(super) fn write(&self, rank: u32) -> Option<&Write> {
        let number = self.order.get((rank as usize).checked_sub(1)?)?;
        self.writes.get(*number as usize - 1)
    }

    /// Returns the number of the write of this rank.
    #[inline]
    pub(super) fn number(&self, rank: u32) -> Number {
        match rank.checked_sub(1) {
            None => 0,
            Some(position) => self.order[position as usize],
        }
    }

    /// Returns the rank of a write.
    #[inline]
    pub(super) fn rank(&self, write: Number) -> u32 {
        match write.checked_sub(1) {
            None => 0,
            Some(position) => self.ranks[position as usize],
        }
    }

    /// Returns the number of writes that the thread's next access may read or follow, the initial value
    /// included.
    #[inline]
    pub(super) fn reach<'a>(
        &self,
        thread: ThreadId,
        known: impl FnOnce() -> VersionedClock<'a>,
    ) -> u32 {
        let top = self.top();
        // The cached floor is a lower bound even when the thread's clock has grown since.
        match self.cached_floor(thread) == top {
            true => 1,
            false => top - self.floor(thread, known()) + 1,
        }
    }

    /// Returns a lower bound of the thread's floor.
    #[inline]
    fn cached_floor(&self, thread: ThreadId) -> u32 {
        let cache = self.floors.get(thread.index());
        cache.map_or(0, |floor| self.rank(floor.get().write))
    }

    /// Returns the least rank that the thread's next access may read or follow.
    #[inline]
    fn floor(&self, thread: ThreadId, known: VersionedClock<'_>) -> u32 {
        let cache = self.floors.get(thread.index());
        let Floor { version, write } = cache.map_or(Floor::default(), Cell::get);
        let floor = self.rank(write);
        if version == known.version {
            return floor;
        }
        let floor = self.raised_floor(floor, known.clock);
        if let Some(cache) = cache {
            let (version, write) = (known.version, self.number(floor));
            cache.set(Floor { version, write });
        }
        floor
    }

    /// Returns the floor of a thread with this clock, which is at least `floor`.
    fn raised_floor(&self, mut floor: u32, clock: &[u32]) -> u32 {
        for (thread, last) in self.last.iter().enumerate() {
            let rank = self.rank(last.write);
            if rank <= floor {
                continue;
            }
            let count = clock[thread];
            if last.index < count {
                floor = rank;
            } else if count > 0 {
                floor = self.raised_by(&self.accesses[thread], floor, count);
            }
        }
        floor
    }

    /// Returns the greatest rank of these accesses with an index below `count`, or `floor` if that is
    /// greater.
    fn raised_by(&self, accesses: &[Access], floor: u32, count: u32) -> u32 {
        // Ranks increase, so the last access in the clock has the greatest of its thread. No event has two
        // accesses, so that there are few candidates when the clock includes recent events.
        let Some(last) = accesses.last() else {
            return floor;
        };
        let unknown = (last.index + 1).saturating_sub(count) as usize;
        let (known, recent) = accesses.split_at(accesses.len().saturating_sub(unknown));
        let more = recent.partition_point(|access| access.index < count);
        let last_known = recent[..more].last().or(known.last());
        floor.max(last_known.map_or(0, |access| self.rank(access.write)))
    }

    /// True when an update by the thread can only follow the coherence-last write: all writes above its
    /// floor are updates, and nothing may stand between an update and its source.
    #[inline]
    pub(super) fn must_append(&self, thread: ThreadId, known: VersionedClock<'_>) -> bool {
        let last_store = self.rank(self.last_store);
        // The cached floor is a lower bound even when the thread's clock has grown since.
        last_store <= self.cached_floor(thread) || last_store <= self.floor(thread, known)
    }

    /// Inserts a write directly after the one of rank `behind` in coherence order; returns its
    /// neighbours before and after.
    pub(super) fn insert(
        &mut self,
        behind: u32,
        write: Write,
    ) -> (Option<EventId>, Option<EventId>) {
        let before = self.write(behind).map(|it| it.id);
        let next = self.write(behind + 1).map(|it| it.id);
        self.writes.push(write);
        self.ranks.push(behind + 1);
        let number = self.writes.len() as Number;
        match next {
            None => self.order.push(number),
            Some(_) => self.place(behind, number),
        }
        if !write.update && self.rank(self.last_store) <= behind {
            self.last_store = number;
        }
        (before, next)
    }

    /// Inserts a write after the one of rank `behind`: all greater ranks grow by one.
    #[cold]
    fn place(&mut self, behind: u32, number: Number) {
        for &later in &self.order[behind as usize..] {
            self.ranks[later as usize - 1] += 1;
        }
        self.order.insert(behind as usize, number);
    }

    /// Records an access whose source, or whose own write if it writes, is `back` writes before the
    /// last. The write must have been inserted before; if no write is ever inserted, all accesses
    /// have rank 0.
    #[inline]
    pub(super) fn record(&mut self, event: EventId, back: u32) {
        let write = self.number(self.top().saturating_sub(back));
        let thread = event.thread.index();
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Access::default());
            self.floors.resize(thread + 1, Cell::default());
            if self.accesses.len() <= thread {
                self.accesses.resize_with(thread + 1, Vec::new);
            }
        }
        let last = self.last[thread].write;
        if write == last {
            return;
        }
        let rank = self.rank(write);
        debug_assert!(self.rank(last) < rank, "coherence: a thread goes back");
        let index = event.index;
        let access = Access { index, write };
        self.accesses[thread].push(access);
        self.last[thread] = access;
        if self.cached_floor(event.thread) < rank {
            self.floors[thread].get_mut().write = write;
        }
    }
}
