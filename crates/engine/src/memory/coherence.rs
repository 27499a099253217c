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

/// One access of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    /// Index of the event in its thread.
    index: u32,
    rank: u32,
}

/// A lower bound of a thread's floor, and the floor itself while the thread's clock has this version.
#[derive(Clone, Copy, Debug, Default)]
struct Floor {
    /// 0 before the floor was first computed.
    version: u32,
    rank: u32,
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
    /// In coherence order.
    writes: Vec<Write>,
    /// By thread, the first of its accesses with each rank above 0, in program order. Ranks increase along a
    /// list.
    accesses: Vec<Vec<Access>>,
    /// By thread, the last of these; rank 0 if there is none. A separate list, because computing a
    /// floor reads all of them.
    last: Vec<Access>,
    /// By thread; has the length of `last`.
    floors: Vec<Cell<Floor>>,
    /// Rank of the coherence-last write that is no update, or 0.
    last_store: u32,
}

impl Coherence {
    /// Removes all writes and accesses.
    pub(super) fn clear(&mut self) {
        self.writes.clear();
        self.accesses.iter_mut().for_each(Vec::clear);
        self.last.clear();
        self.floors.clear();
        self.last_store = 0;
    }

    /// Returns the rank of the coherence-last write.
    #[inline]
    pub(super) fn top(&self) -> u32 {
        self.writes.len() as u32
    }

    /// Returns the write of this rank; `None` for the initial value.
    #[inline]
    pub(super) fn write(&self, rank: u32) -> Option<&Write> {
        self.writes.get((rank as usize).checked_sub(1)?)
    }

    /// Returns the number of writes that the thread's next access may read or follow, the initial value
    /// included.
    #[inline]
    pub(super) fn reach<'a>(
        &self,
        thread: ThreadId,
        known: impl FnOnce() -> VersionedClock<'a>,
    ) -> u32 {
        // The cached rank is a lower bound of the floor even when the thread's clock has grown since.
        let cache = self.floors.get(thread.index());
        let top = self.top();
        match cache.is_some_and(|floor| floor.get().rank == top) {
            true => 1,
            false => top - self.floor(thread, known()) + 1,
        }
    }

    /// Returns the least rank that the thread's next access may read or follow.
    #[inline]
    pub(super) fn floor(&self, thread: ThreadId, known: VersionedClock<'_>) -> u32 {
        let cache = self.floors.get(thread.index());
        let Floor { version, rank } = cache.map_or(Floor::default(), Cell::get);
        if version == known.version {
            return rank;
        }
        let rank = self.raised_floor(rank, known.clock);
        if let Some(cache) = cache {
            let version = known.version;
            cache.set(Floor { version, rank });
        }
        rank
    }

    /// Returns the floor of a thread with this clock, which is at least `floor`.
    fn raised_floor(&self, mut floor: u32, clock: &[u32]) -> u32 {
        for (thread, last) in self.last.iter().enumerate() {
            if last.rank <= floor {
                continue;
            }
            let count = clock[thread];
            if last.index < count {
                floor = last.rank;
            } else if count > 0 {
                // Ranks increase, so the last access in the clock has the greatest of its thread.
                let accesses = &self.accesses[thread];
                let known = accesses.partition_point(|access| access.index < count);
                if let Some(access) = accesses[..known].last() {
                    floor = floor.max(access.rank);
                }
            }
        }
        floor
    }

    /// True when an update by the thread can only follow the coherence-last write: all writes above its
    /// floor are updates, and nothing may stand between an update and its source.
    #[inline]
    pub(super) fn must_append(&self, thread: ThreadId, known: VersionedClock<'_>) -> bool {
        // The cached rank is a lower bound of the floor even when the thread's clock has grown
        // since.
        let cache = self.floors.get(thread.index());
        self.last_store <= cache.map_or(0, |floor| floor.get().rank)
            || self.last_store <= self.floor(thread, known)
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
        if next.is_some() {
            self.shift(behind);
        }
        if !write.update {
            self.last_store = self.last_store.max(behind + 1);
        }
        match next {
            None => self.writes.push(write),
            Some(_) => self.writes.insert(behind as usize, write),
        }
        (before, next)
    }

    /// Makes room for a write after the one of rank `behind`: all greater ranks grow by one.
    #[cold]
    fn shift(&mut self, behind: u32) {
        let moved = |rank: u32| rank + u32::from(rank > behind);
        for accesses in &mut self.accesses {
            let above = accesses.iter_mut().rev();
            for access in above.take_while(|access| access.rank > behind) {
                access.rank += 1;
            }
        }
        for access in &mut self.last {
            access.rank = moved(access.rank);
        }
        for floor in &mut self.floors {
            let floor = floor.get_mut();
            floor.rank = moved(floor.rank);
        }
        self.last_store = moved(self.last_store);
    }

    /// Records an access whose source, or whose own write if it writes, is `back` writes before the
    /// last. The write must have been inserted before; if no write is ever inserted, all accesses
    /// have rank 0.
    #[inline]
    pub(super) fn record(&mut self, event: EventId, back: u32) {
        let rank = self.top().saturating_sub(back);
        let thread = event.thread.index();
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Access::default());
            self.floors.resize(thread + 1, Cell::default());
            if self.accesses.len() <= thread {
                self.accesses.resize_with(thread + 1, Vec::new);
            }
        }
        debug_assert!(
            self.last[thread].rank <= rank,
            "coherence: a thread goes back"
        );
        if rank == self.last[thread].rank {
            return;
        }
        let index = event.index;
        let access = Access { index, rank };
        self.accesses[thread].push(access);
        self.last[thread] = access;
        let floor = self.floors[thread].get_mut();
        floor.rank = floor.rank.max(rank);
    }
}
