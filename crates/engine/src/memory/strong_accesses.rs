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
    /// By thread, in program order: the index of each access and its location.
    threads: Vec<Vec<(u32, LocationId)>>,
    /// The result of following `psc`; kept for its memory.
    reached: Vec<u32>,
    tasks: Vec<EventId>,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    place: EcoPlace,
    event: EventId,
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
}

fn place_of(rank: u32, writes: bool) -> EcoPlace {
    2 * rank + u32::from(!writes)
}

impl StrongAccesses {
    /// Removes all accesses.
    pub(super) fn clear(&mut self) {
        self.locations.iter_mut().for_each(Vec::clear);
        self.threads.iter_mut().for_each(Vec::clear);
    }

    /// Adds a `SeqCst` access that takes, or is, the write of this rank.
    pub(super) fn add(&mut self, event: EventId, location: LocationId, rank: u32, writes: bool) {
        let place = place_of(rank, writes);
        let all = entry(&mut self.locations, location.index());
        let after = all.iter().rev().take_while(|one| one.place > place).count();
        all.insert(all.len() - after, Placed { place, event });
        entry(&mut self.threads, event.thread.index()).push((event.index, location));
    }

    /// Makes room for a write after the one of rank `behind` in coherence order.
    #[cold]
    pub(super) fn shift(&mut self, location: LocationId, behind: u32) {
        let all = entry(&mut self.locations, location.index()).iter_mut();
        let last_kept = place_of(behind, false);
        for one in all.rev().take_while(|one| one.place > last_kept) {
            one.place += 2;
        }
    }

    /// True when `psc` has no cycle if the next event of the thread is this `SeqCst` access. `clock` returns
    /// the clock of an event, in which the entry of its own thread is not read.
    pub(super) fn admits<'c>(
        &mut self,
        next: NextAccess<'_>,
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> bool {
        let successors = place_of(next.rank, false);
        let (mut reached, mut tasks) = (
            std::mem::take(&mut self.reached),
            std::mem::take(&mut self.tasks),
        );
        reached.clear();
        reached.resize(self.threads.len(), u32::MAX);
        tasks.clear();
        self.add_later(next.location, successors, &mut tasks);
        let mut admits = true;
        while let Some(EventId { thread, index }) = tasks.pop() {
            let until = std::mem::replace(&mut reached[thread.index()], index);
            if until <= index {
                reached[thread.index()] = until;
                continue;
            }
            let is_strongly_before = next
                .clock
                .get(thread.index())
                .is_some_and(|&it| index + 1 < it);
            if thread == next.thread || is_strongly_before {
                admits = false;
                break;
            }
            let own = &self.threads[thread.index()];
            let first = own.partition_point(|&(one, _)| one < index);
            let newly = own[first..].iter().take_while(|&&(one, _)| one < until);
            for &(index, location) in newly {
                let place = self.place(EventId { thread, index }, location);
                self.add_later(location, place, &mut tasks);
            }
            // The other events that come after these by `shb` come after the first of them.
            for (other, theirs) in self.threads.iter().enumerate() {
                let other = ThreadId::new(other);
                let comes_after = |&(one, _): &(u32, LocationId)| {
                    let before = EventId {
                        thread: other,
                        index: one - 1,
                    };
                    index + 1 < clock(before)[thread.index()]
                };
                if other != thread {
                    let first = theirs.partition_point(|one| !comes_after(one));
                    tasks.extend(theirs.get(first).map(|&(index, _)| EventId {
                        thread: other,
                        index,
                    }));
                }
            }
        }
        (self.reached, self.tasks) = (reached, tasks);
        admits
    }

    /// Adds the accesses of a location that come after this place.
    fn add_later(&self, location: LocationId, place: EcoPlace, tasks: &mut Vec<EventId>) {
        let Some(all) = self.locations.get(location.index()) else {
            return;
        };
        let later = all.iter().rev().take_while(|one| one.place > place);
        tasks.extend(later.map(|one| one.event));
    }

    /// Returns the place of an access; most are asked for soon after they were added.
    fn place(&self, event: EventId, location: LocationId) -> EcoPlace {
        let mut all = self.locations[location.index()].iter().rev();
        let found = all.find(|one| one.event == event);
        found
            .expect("every access is in the list of its location")
            .place
    }
}

fn entry<T>(lists: &mut Vec<Vec<T>>, index: usize) -> &mut Vec<T> {
    if lists.len() <= index {
        lists.resize_with(index + 1, Vec::new);
    }
    &mut lists[index]
}
