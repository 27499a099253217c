//! The axiom on `SeqCst` at the next access of a running execution, under the rules of C++20.
//!
//! The events so far satisfy the axiom, so `psc` (`psc.rs` has its pairs) has a linear extension: a total order of
//! the `SeqCst` accesses and fences, which is kept here. The next event has successors in `psc` only if it
//! takes a stale write or is placed before others: the accesses further on in coherence order, and the fences
//! after those. If the event is `SeqCst`, these must come after it and so after its predecessors; whatever it
//! is, they must come after the fences that happen before it. So `psc` has a cycle exactly if it leads
//! from a successor to such a predecessor. Mostly all successors come after all predecessors in the total
//! order, and nothing else has to be looked at. Otherwise one pass over the nodes between the two finds those
//! to which `psc` leads. If the event is performed, these move behind the predecessors (Pearce and Kelly, *A
//! dynamic topological sort algorithm for directed acyclic graphs*, 2007).

mod fences;
mod line;

pub(super) use fences::Known;
use fences::{Fence, Fences};
use line::{HEAD, Line, NodeId};

use super::coherence::{Coherence, Number};
use crate::base::ids::{EventId, LocationId, ThreadId};

/// The total order, and what the edges of `psc` follow from.
#[derive(Debug, Default)]
pub(super) struct StrongOrder {
    line: Line,
    /// By node, but for `HEAD`.
    nodes: Vec<Node>,
    /// By thread, index and node of its events in program order.
    threads: Vec<Vec<(u32, NodeId)>>,
    /// By location, the accesses in the order of their places.
    locations: Vec<Vec<NodeId>>,
    fences: Fences,
    /// True once there was a fence.
    has_fence: bool,
    refused: Option<Refused>,
    search: Search,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    event: EventId,
    kind: NodeKind,
}

#[derive(Clone, Copy, Debug)]
enum NodeKind {
    Access(LocationId, EcoPlace),
    Fence(Fence),
}

/// A place in the order `eco` of one location: that of a write, or that of the reads of the write, which follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EcoPlace {
    pub(super) write: Number,
    pub(super) reads: bool,
}

impl EcoPlace {
    /// Returns the number of the place; the write of rank `n` in coherence order has `2n`.
    #[inline]
    fn at(self, coherence: &Coherence) -> u32 {
        2 * coherence.rank(self.write) + u32::from(self.reads)
    }
}

/// The next event of a thread, or the one just performed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'a> {
    pub(super) event: EventId,
    pub(super) location: LocationId,
    /// Rank of the write that it reads or directly follows.
    pub(super) behind: u32,
    /// True when it is `SeqCst`.
    pub(super) is_strong: bool,
    /// Clock of the thread's last event before it.
    pub(super) before: &'a [u32],
    /// Clock of the releases that it acquires, or its own clock.
    pub(super) acquired: &'a [u32],
    /// Number of events so far.
    pub(super) events: usize,
}

/// An access that was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Refused {
    event: EventId,
    location: LocationId,
    is_strong: bool,
    /// Number of events then.
    events: usize,
    behind: u32,
}

impl Access<'_> {
    /// Returns the place from which on accesses of the location come after it by `eco`.
    fn place(&self) -> u32 {
        2 * self.behind + 1
    }

    /// True when the node precedes it in `psc`, or is a fence that happens before it.
    fn follows(&self, node: &Node) -> bool {
        let EventId { thread, index } = node.event;
        let within =
            |clock: &[u32], index: u32| clock.get(thread.index()).is_some_and(|&it| index < it);
        let is_fence = matches!(node.kind, NodeKind::Fence(_));
        match thread == self.event.thread {
            true => self.is_strong || is_fence,
            false => {
                self.is_strong && within(self.before, index + 1)
                    || is_fence && (within(self.before, index) || within(self.acquired, index))
            }
        }
    }
}

impl StrongOrder {
    /// Removes all events.
    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.nodes.clear();
        self.threads.iter_mut().for_each(Vec::clear);
        self.locations.iter_mut().for_each(Vec::clear);
        if self.has_fence {
            self.fences.clear();
            self.has_fence = false;
        }
        self.refused = None;
    }

    /// True once there was a fence: from then on every access is added.
    pub(super) fn has_fence(&self) -> bool {
        self.has_fence
    }

    /// Adds a fence with its clock.
    pub(super) fn add_fence(&mut self, event: EventId, clock: &[u32], coherence: &[Coherence]) {
        self.has_fence = true;
        let node = self.line.add_after(self.line.last());
        let fence = self.fences.add(event, node, clock, coherence);
        self.add_node(event, NodeKind::Fence(fence));
    }

    /// Notes an access, `SeqCst` or not, that the axiom admits. Only executions with fences need this.
    pub(super) fn note(
        &mut self,
        event: EventId,
        location: LocationId,
        place: EcoPlace,
        known: Known<'_>,
        coherence: &Coherence,
    ) {
        (self.fences).add_access(event, location, place, known, coherence);
    }

    /// Adds a `SeqCst` access that the axiom admits, or puts the events after a stale one that is weaker.
    pub(super) fn add<'c>(
        &mut self,
        access: Access<'_>,
        place: EcoPlace,
        coherence: &[Coherence],
        clock: impl Fn(EventId) -> &'c [u32],
    ) {
        let own = &coherence[access.location.index()];
        let before = match access.behind + u32::from(!place.reads) == own.top() {
            true => self.line.last(),
            false => self.make_way(&access, coherence, clock),
        };
        if !access.is_strong {
            return;
        }
        let node = self.line.add_after(before);
        self.add_node(access.event, NodeKind::Access(access.location, place));
        let at = place.at(own);
        let all = entry(&mut self.locations, access.location.index());
        let place_of = |node: NodeId| match self.nodes[node as usize - 1].kind {
            NodeKind::Access(_, place) => place.at(own),
            NodeKind::Fence(_) => 0,
        };
        let position = match all.last() {
            Some(&last) if place_of(last) > at => {
                late_partition_point(all, |&it| place_of(it) <= at)
            }
            _ => all.len(),
        };
        all.insert(position, node);
    }

    fn add_node(&mut self, event: EventId, kind: NodeKind) {
        self.nodes.push(Node { event, kind });
        let node = self.nodes.len() as NodeId;
        entry(&mut self.threads, event.thread.index()).push((event.index, node));
    }

    /// Orders the successors of a stale access after its predecessors; returns the node after which the access
    /// belongs.
    #[cold]
    fn make_way<'c>(
        &mut self,
        access: &Access<'_>,
        coherence: &[Coherence],
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> NodeId {
        let Some(first) = self.first_successor(access, &coherence[access.location.index()]) else {
            return self.line.last();
        };
        let Some(last) = self.last_predecessor(access, first) else {
            return self.line.before(first);
        };
        let mut search = std::mem::take(&mut self.search);
        let admits = self.follow(&mut search, first, last, access, coherence, clock);
        debug_assert!(admits, "memory: an access contradicts the order of SeqCst");
        self.line.move_after(last, &search.reached);
        self.search = search;
        last
    }

    /// True when `psc` has no cycle if this is the next event. `clock` returns the clock of an event, in which
    /// the entry of its own thread is not read.
    pub(super) fn admits<'c>(
        &mut self,
        access: Access<'_>,
        coherence: &[Coherence],
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> bool {
        let now = Refused {
            event: access.event,
            location: access.location,
            is_strong: access.is_strong,
            events: access.events,
            behind: access.behind,
        };
        // An access with an earlier place has all the successors of the refused one.
        if let Some(Refused { behind, .. }) = self.refused
            && self.refused == Some(Refused { behind, ..now })
            && access.behind <= behind
        {
            return false;
        }
        let own = &coherence[access.location.index()];
        let Some(first) = self.first_successor(&access, own) else {
            return true;
        };
        let Some(last) = self.last_predecessor(&access, first) else {
            return true;
        };
        let mut search = std::mem::take(&mut self.search);
        let admits = self.follow(&mut search, first, last, &access, coherence, clock);
        self.search = search;
        // Accesses with earlier places may acquire less, and then fewer fences happen before them.
        if !admits && access.acquired.is_empty() {
            self.refused = Some(now);
        }
        admits
    }

    /// Returns the first node after the access in `psc`, or after a fence before it.
    fn first_successor(&self, access: &Access<'_>, coherence: &Coherence) -> Option<NodeId> {
        let place = access.place();
        let place_of = |node: NodeId| match self.nodes[node as usize - 1].kind {
            NodeKind::Access(_, place) => place.at(coherence),
            NodeKind::Fence(_) => 0,
        };
        let all = self.locations.get(access.location.index());
        let all = all.map_or(&[][..], Vec::as_slice);
        let later = &all[late_partition_point(all, |&node| place_of(node) <= place)..];
        // `eco` orders accesses by their places, but not those of one place.
        let next = later.first().map(|&node| place_of(node));
        let accesses = later
            .iter()
            .copied()
            .take_while(|&node| Some(place_of(node)) == next);
        let fences = (self.has_fence)
            .then(|| (self.fences).first_after_place(access.location, place, coherence));
        let all = accesses.chain(fences.into_iter().flatten());
        all.min_by_key(|&node| self.line.label(node))
    }

    /// Returns the last node from `first` on that is before the access in `psc`, or is a fence that happens
    /// before it.
    fn last_predecessor(&self, access: &Access<'_>, first: NodeId) -> Option<NodeId> {
        // Mostly few nodes follow. Otherwise the last predecessors in each thread are compared.
        let mut last = None;
        let mut node = first;
        for _ in 0..2 * self.threads.len() {
            if access.follows(&self.nodes[node as usize - 1]) {
                last = Some(node);
            }
            if node == self.line.last() {
                return last;
            }
            node = self.line.after(node);
        }
        let last = self.last_of_threads(access);
        (self.line.label(last) >= self.line.label(first)).then_some(last)
    }

    fn last_of_threads(&self, access: &Access<'_>) -> NodeId {
        let mut last = HEAD;
        let mut label = 0;
        let mut consider = |node: Option<NodeId>| {
            if let Some(node) = node
                && self.line.label(node) > label
            {
                (last, label) = (node, self.line.label(node));
            }
        };
        for (thread, own) in self.threads.iter().enumerate() {
            let is_own = thread == access.event.thread.index();
            let [before, acquired] =
                [access.before, access.acquired].map(|it| it.get(thread).copied().unwrap_or(0));
            let fences_before = match is_own {
                true => u32::MAX,
                false => before.max(acquired),
            };
            if access.is_strong {
                let count = match is_own {
                    true => own.len(),
                    false => late_partition_point(own, |&(index, _)| index + 1 < before),
                };
                consider(own[..count].last().map(|&(_, node)| node));
            }
            if self.has_fence && !(is_own && access.is_strong) {
                consider(
                    self.fences
                        .last_within(ThreadId::new(thread), fences_before),
                );
            }
        }
        last
    }

    /// Follows `psc` from the successors of the access to the last of its predecessors; false if it
    /// leads to one of these.
    fn follow<'c>(
        &self,
        search: &mut Search,
        first: NodeId,
        last: NodeId,
        access: &Access<'_>,
        coherence: &[Coherence],
        clock: impl Fn(EventId) -> &'c [u32],
    ) -> bool {
        search.begin(self.threads.len(), coherence.len());
        search.reach(access.location, access.place());
        let mut node = first;
        loop {
            let Node { event, kind } = self.nodes[node as usize - 1];
            let is_reached = search.leads_in_thread(event)
                || match kind {
                    NodeKind::Access(location, place) => {
                        let from = search.places[location.index()];
                        from != NOWHERE && place.at(&coherence[location.index()]) > from
                    }
                    NodeKind::Fence(_) => search.locations.iter().any(|&location| {
                        let known = self.fences.place_before(event, location);
                        let from = search.places[location.index()];
                        known.is_some_and(|it| it.at(&coherence[location.index()]) > from)
                    }),
                }
                || search.leads_by_clock(event, &clock);
            if is_reached {
                if access.follows(&self.nodes[node as usize - 1]) {
                    return false;
                }
                search.add(event);
                search.reached.push(node);
                match kind {
                    NodeKind::Access(location, place) => {
                        search.reach(location, place.at(&coherence[location.index()]));
                    }
                    NodeKind::Fence(fence) => {
                        for &(location, place) in self.fences.places_after(fence) {
                            search.reach(location, place.at(&coherence[location.index()]));
                        }
                    }
                }
            }
            if node == last {
                return true;
            }
            node = self.line.after(node);
        }
    }
}

/// Returns the partition point of a list, which is expected near its end.
fn late_partition_point<T>(list: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let (mut end, mut step) = (list.len(), 1);
    while end > 0 {
        let probe = end.saturating_sub(step);
        if holds(&list[probe]) {
            return probe + 1 + list[probe + 1..end].partition_point(holds);
        }
        (end, step) = (probe, 2 * step);
    }
    0
}

/// No place is reached.
const NOWHERE: u32 = u32::MAX;

/// The nodes to which `psc` leads.
#[derive(Debug, Default)]
struct Search {
    /// By thread: number of its events up to the first that is reached, this included; all later ones are
    /// reached, too.
    threads: Vec<u32>,
    /// By location, the place after which accesses are reached.
    places: Vec<u32>,
    /// The locations of which places are reached.
    locations: Vec<LocationId>,
    /// In the total order.
    reached: Vec<NodeId>,
}

impl Search {
    fn begin(&mut self, threads: usize, locations: usize) {
        self.threads.clear();
        self.threads.resize(threads, u32::MAX);
        for location in self.locations.drain(..) {
            self.places[location.index()] = NOWHERE;
        }
        self.places.resize(locations, NOWHERE);
        self.reached.clear();
    }

    fn reach(&mut self, location: LocationId, place: u32) {
        let from = &mut self.places[location.index()];
        if *from == NOWHERE {
            self.locations.push(location);
        }
        *from = place.min(*from);
    }

    fn add(&mut self, event: EventId) {
        let first = &mut self.threads[event.thread.index()];
        *first = (event.index + 1).min(*first);
    }

    /// True when an earlier event of the thread is reached.
    fn leads_in_thread(&self, event: EventId) -> bool {
        self.threads[event.thread.index()] != u32::MAX
    }

    /// True when `shb` leads from an event of another thread to this one.
    fn leads_by_clock<'c>(&self, event: EventId, clock: impl Fn(EventId) -> &'c [u32]) -> bool {
        let Some(index) = event.index.checked_sub(1) else {
            return false;
        };
        let clock = clock(EventId { index, ..event });
        let both = self.threads.iter().zip(clock);
        both.fold(false, |leads, (first, count)| leads | (first < count))
    }
}

fn entry<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_point_is_found_from_the_end() {
        for length in 0..40 {
            let list: Vec<usize> = (0..length).collect();
            for point in 0..=length {
                assert_eq!(late_partition_point(&list, |&it| it < point), point);
            }
        }
    }
}
