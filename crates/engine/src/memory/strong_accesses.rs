//! The axiom on `SeqCst` at the next access of a running execution, without fences.
//!
//! The events so far satisfy the axiom, so a cycle of `psc` must contain the next access. The access has no
//! successor but those by `eco`: accesses further on in coherence order, if it takes a stale write or is placed
//! before others. These come after its predecessors by `eco`, too, so a cycle leads back to it by `shb`.
//! [`StrongAccesses::admits`] follows `psc` from the successors. It visits only events that the order of
//! `SeqCst` puts after a stale write. With few threads these are recent ones, and a check of all events would
//! take longer at every access of an execution; with many threads they are many.
//!
//! `psc.rs` has the axiom, and decides it for executions with `SeqCst` fences and for graphs.

use crate::base::ids::{EventId, LocationId, ThreadId};

/// The `SeqCst` accesses of a running execution.
#[derive(Debug, Default)]
pub(super) struct StrongAccesses {
    /// By location, in the order of their places in `eco`.
    locations: Vec<Vec<Placed>>,
    /// By thread, in program order.
    threads: Vec<Vec<OwnAccess>>,
    /// The last access that was refused, with the number of events then.
    refused: Option<(usize, ThreadId, LocationId, u32)>,
    search: Search,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    place: EcoPlace,
    event: EventId,
}

#[derive(Clone, Copy, Debug)]
struct OwnAccess {
    /// Index of the event in its thread.
    index: u32,
    location: LocationId,
    place: EcoPlace,
}

/// Events that `psc` leads to; kept for its memory.
#[derive(Debug, Default)]
struct Search {
    /// By thread, the position of the first access that is reached; all later ones are reached, too.
    threads: Vec<usize>,
    /// By location, the same for the accesses in the order of their places.
    locations: Vec<usize>,
    tasks: Vec<EventId>,
}

/// A place in the order `eco` of one location. The write of rank `n` in coherence order has place `2n`, the
/// reads of it have place `2n + 1`.
type EcoPlace = u32;

/// The next access of a thread: it reads or follows the write of this rank in coherence order.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextAccess<'a> {
    pub(super) thread: ThreadId,
    pub(super) location: LocationId,
    pub(super) rank: u32,
    /// Clock of the thread's last event.
    pub(super) clock: &'a [u32],
    /// Number of events so far.
    pub(super) events: usize,
}

fn place_of(rank: u32, writes: bool) -> EcoPlace {
    2 * rank + u32::from(!writes)
}

impl StrongAccesses {
    /// Removes all accesses.
    pub(super) fn clear(&mut self) {
        self.locations.iter_mut().for_each(Vec::clear);
        self.threads.iter_mut().for_each(Vec::clear);
        self.refused = None;
    }

    /// Adds a `SeqCst` access that takes, or is, the write of this rank.
    pub(super) fn add(&mut self, event: EventId, location: LocationId, rank: u32, writes: bool) {
        let place = place_of(rank, writes);
        let all = entry(&mut self.locations, location.index());
        let after = all.iter().rev().take_while(|one| one.place > place).count();
        all.insert(all.len() - after, Placed { place, event });
        entry(&mut self.threads, event.thread.index()).push(OwnAccess {
            index: event.index,
            location,
            place,
        });
    }

    /// Makes room for a write after the one of rank `behind` in coherence order.
    #[cold]
    pub(super) fn shift(&mut self, location: LocationId, behind: u32) {
        let all = entry(&mut self.locations, location.index()).iter_mut();
        let last_kept = place_of(behind, false);
        for one in all.rev().take_while(|one| one.place > last_kept) {
            one.place += 2;
            let own = &mut self.threads[one.event.thread.index()];
            let position = own.partition_point(|other| other.index < one.event.index);
            own[position].place = one.place;
        }
    }

    /// True when `psc` has no cycle if the next event of the thread is this `SeqCst` access. `clock` returns
    /// the clock of an event, in which the entry of its own thread is not read.
    pub(super) fn admits<'c>(
        &mut self,
        next: NextAccess<'_>,
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> bool {
        // An access with an earlier place has all the successors of the refused one.
        let (thread, location) = (next.thread, next.location);
        if let Some((events, refused_thread, refused_location, rank)) = self.refused
            && (events, refused_thread, refused_location) == (next.events, thread, location)
            && next.rank <= rank
        {
            return false;
        }
        let mut search = std::mem::take(&mut self.search);
        let admits = self.follow(&mut search, next, clock);
        self.search = search;
        if !admits {
            self.refused = Some((next.events, thread, location, next.rank));
        }
        admits
    }

    /// Follows `psc` from the successors of the access; false if that leads to one of its predecessors.
    fn follow<'c>(
        &self,
        search: &mut Search,
        next: NextAccess<'_>,
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> bool {
        search.threads.clear();
        search.threads.extend(self.threads.iter().map(Vec::len));
        search.locations.clear();
        search.locations.extend(self.locations.iter().map(Vec::len));
        search.tasks.clear();
        self.reach_later(search, next.location, place_of(next.rank, false));
        while let Some(EventId { thread, index }) = search.tasks.pop() {
            let own = &self.threads[thread.index()];
            let until = search.threads[thread.index()];
            let first = own[..until].partition_point(|one| one.index < index);
            if first == until {
                continue;
            }
            search.threads[thread.index()] = first;
            let known = next.clock.get(thread.index());
            if thread == next.thread || known.is_some_and(|&known| index + 1 < known) {
                return false;
            }
            for one in &own[first..until] {
                self.reach_later(search, one.location, one.place);
            }
            // Other accesses that come after these by `shb` come after the first of them.
            for (other, theirs) in self.threads.iter().enumerate() {
                let other_thread = ThreadId::new(other);
                let comes_after = |one: &OwnAccess| {
                    let before = EventId {
                        thread: other_thread,
                        index: one.index - 1,
                    };
                    index + 1 < clock(before)[thread.index()]
                };
                let unreached = &theirs[..search.threads[other]];
                if other_thread != thread && unreached.last().is_some_and(comes_after) {
                    let first = unreached.partition_point(|one| !comes_after(one));
                    search.tasks.push(EventId {
                        thread: other_thread,
                        index: unreached[first].index,
                    });
                }
            }
        }
        true
    }

    /// Adds the accesses of a location that come after this place and were not added yet.
    fn reach_later(&self, search: &mut Search, location: LocationId, place: EcoPlace) {
        let Some(all) = self.locations.get(location.index()) else {
            return;
        };
        let until = &mut search.locations[location.index()];
        let later = all[..*until].iter().rev();
        let later = later.take_while(|one| one.place > place);
        let before = search.tasks.len();
        search.tasks.extend(later.map(|one| one.event));
        *until -= search.tasks.len() - before;
    }
}

fn entry<T>(lists: &mut Vec<Vec<T>>, index: usize) -> &mut Vec<T> {
    if lists.len() <= index {
        lists.resize_with(index + 1, Vec::new);
    }
    &mut lists[index]
}
