//! The accesses before and after `SeqCst` fences.
//!
//! The accesses of one location by one thread have increasing places, by coherence. So it suffices to know, for
//! each fence and location, the last place that happens before the fence and the first place that it happens
//! before.

use super::{EcoPlace, NodeId, late_partition_point};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::memory::coherence::Coherence;

/// Number of a fence.
pub(super) type Fence = u32;

/// All `SeqCst` fences, and the accesses of a running execution.
#[derive(Debug, Default)]
pub(super) struct Fences {
    /// By thread, its fences in program order.
    threads: Vec<Vec<OwnFence>>,
    /// By location, by thread.
    places: Vec<Vec<Places>>,
    /// By fence, the first place of each location that is accessed after it. A later fence of the same thread
    /// has the accesses after both. Those behind `count` are kept for their memory.
    after: Vec<Vec<(LocationId, EcoPlace)>>,
    count: Fence,
}

#[derive(Clone, Copy, Debug)]
struct OwnFence {
    /// Index of the event in its thread.
    index: u32,
    node: NodeId,
    number: Fence,
}

/// The places of a thread at one location.
#[derive(Debug, Default)]
struct Places {
    /// The first access at each place, in program order.
    accesses: Vec<(u32, EcoPlace)>,
    /// The last places that happen before fences of the thread: by index of the first fence with this place.
    known: Vec<(u32, EcoPlace)>,
    /// Version of the clock and number of own fences at the last access that was noted at fences.
    noted: (u32, usize),
}

/// The clock of an event just performed, and its version.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Known<'a> {
    pub(in crate::memory) clock: &'a [u32],
    pub(in crate::memory) version: u32,
}

impl Fences {
    /// Removes all fences and accesses.
    pub(super) fn clear(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
        for places in self.places.iter_mut().flatten() {
            places.accesses.clear();
            places.known.clear();
            places.noted = (0, 0);
        }
        self.count = 0;
    }

    /// Adds an access with the clock of its thread after it.
    pub(super) fn add_access(
        &mut self,
        event: EventId,
        location: LocationId,
        place: EcoPlace,
        known: Known<'_>,
        coherence: &Coherence,
    ) {
        let all = entry(&mut self.places, location.index());
        let own = entry(all, event.thread.index());
        if own.accesses.last().is_none_or(|&(_, last)| last != place) {
            own.accesses.push((event.index, place));
        }
        let fences = self.threads.get(event.thread.index()).map_or(0, Vec::len);
        let now = (known.version, fences);
        if own.noted == now {
            return;
        }
        own.noted = now;
        for (fences, &count) in self.threads.iter().zip(known.clock) {
            let before = late_partition_point(fences, |fence| fence.index < count);
            let Some(last) = before.checked_sub(1) else {
                continue;
            };
            let after = &mut self.after[fences[last].number as usize];
            match after.iter_mut().find(|(at, _)| *at == location) {
                None => after.push((location, place)),
                Some((_, first)) if place.at(coherence) < first.at(coherence) => *first = place,
                Some(_) => {}
            }
        }
    }

    /// Adds a fence with the clock of its thread after it.
    pub(super) fn add(
        &mut self,
        event: EventId,
        node: NodeId,
        clock: &[u32],
        coherence: &[Coherence],
    ) -> Fence {
        let (thread, index) = (event.thread.index(), event.index);
        let number = self.count;
        self.count += 1;
        entry(&mut self.after, number as usize).clear();
        entry(&mut self.threads, thread).push(OwnFence {
            index,
            node,
            number,
        });
        for (places, coherence) in self.places.iter_mut().zip(coherence) {
            let known = places.iter().zip(clock).filter_map(|(own, &count)| {
                let known = late_partition_point(&own.accesses, |&(index, _)| index < count);
                own.accesses[..known].last().map(|&(_, place)| place)
            });
            let Some(last) = known.max_by_key(|place| place.at(coherence)) else {
                continue;
            };
            let own = &mut entry(places, thread).known;
            if own.last().is_none_or(|&(_, before)| before != last) {
                own.push((index, last));
            }
        }
        number
    }

    /// Returns the first place of each location that is accessed after the fence, but for those after a
    /// later fence of its thread.
    pub(super) fn places_after(&self, fence: Fence) -> &[(LocationId, EcoPlace)] {
        &self.after[fence as usize]
    }

    /// Returns the last place of a location that happens before a fence.
    pub(super) fn place_before(&self, fence: EventId, location: LocationId) -> Option<EcoPlace> {
        let places = self.places.get(location.index())?;
        let known = &places.get(fence.thread.index())?.known;
        let count = late_partition_point(known, |&(index, _)| index <= fence.index);
        known[..count].last().map(|&(_, place)| place)
    }

    /// Returns for each thread the first of its fences after an access of the location with a later place.
    pub(super) fn first_after_place(
        &self,
        location: LocationId,
        place: u32,
        coherence: &Coherence,
    ) -> impl Iterator<Item = NodeId> {
        let places = self.places.get(location.index()).into_iter().flatten();
        places
            .zip(&self.threads)
            .filter_map(move |(places, fences)| {
                let known = &places.known;
                let until = late_partition_point(known, |(_, it)| it.at(coherence) <= place);
                let &(first, _) = known.get(until)?;
                let position = late_partition_point(fences, |fence| fence.index < first);
                fences.get(position).map(|fence| fence.node)
            })
    }

    /// Returns the last fence of a thread among its first `count` events.
    pub(super) fn last_within(&self, thread: ThreadId, count: u32) -> Option<NodeId> {
        let fences = self.threads.get(thread.index())?;
        let before = late_partition_point(fences, |fence| fence.index < count);
        fences[..before].last().map(|fence| fence.node)
    }
}

fn entry<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}
