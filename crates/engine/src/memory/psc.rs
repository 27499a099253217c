//! The axiom on `SeqCst`: there is a total order of all `SeqCst` operations that happens-before and
//! coherence do not contradict. A relation of pairs whose order is given must be acyclic.
//!
//! With `eco = (rf ∪ mo ∪ rb)+`, which C++20 calls coherence-ordered before, and strongly-happens-before
//! `shb = sb ∪ sb ; hb ; sb`, the pairs of C++20 (\[atomics.order\], paragraph 4) are
//!
//! ```text
//! [E.sc] ; (shb ∪ eco) ; [E.sc]           [F.sc] ; (shb ∪ hb ; eco) ; [E.sc]
//! [E.sc] ; (shb ∪ eco ; hb) ; [F.sc]      [F.sc] ; (shb ∪ hb ; eco ; hb) ; [F.sc]
//! ```
//!
//! The pairs of the model from which these rules come (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI
//! 2017) are, with `scb = sb ∪ sb≠loc ; hb ; sb≠loc ∪ hb|loc ∪ mo ∪ rb`, where `≠loc` means that
//! the two events do not access the same location,
//!
//! ```text
//! psc = ([E.sc] ∪ [F.sc] ; hb?) ; scb ; ([E.sc] ∪ hb? ; [F.sc])
//!     ∪ [F.sc] ; (hb ∪ hb ; eco ; hb) ; [F.sc]
//! ```
//!
//! The two differ only where accesses of one location differ in strength, or an event that is not
//! `SeqCst` lies between. All other axioms follow from happens-before and coherence; they hold by
//! the choice of each read's source and each write's place.

use std::ops::Range;

/// The properties of an event that `psc` depends on. An update is one such event or two
/// neighbouring ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touch {
    /// Location of the access.
    pub(crate) location: Option<u32>,
    /// Of a read: the place of its source in coherence order; 0 is the initial value.
    pub(crate) read: Option<u32>,
    /// Of a write: its own place in coherence order, counted from 1.
    pub(crate) written: Option<u32>,
    /// True when it is `SeqCst`.
    pub(crate) seq_cst: bool,
    /// True for a fence.
    pub(crate) fence: bool,
    /// True for the write of an update whose read is the event before it.
    pub(crate) continues: bool,
}

/// The definition of the `SeqCst` pairs whose order is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SeqCstRules {
    /// The pairs of C++20.
    #[default]
    Cpp20,
    /// The pairs of the paper.
    Paper,
}

impl Touch {
    /// True when it precedes the other in `mo` or `rb`.
    fn is_overwritten_by(&self, later: &Touch) -> bool {
        self.shares_location(later)
            && match (self.read.or(self.written), later.written) {
                (Some(mine), Some(theirs)) => mine < theirs,
                _ => false,
            }
    }

    /// True when it precedes the other in `eco`.
    fn eco(&self, later: &Touch) -> bool {
        self.shares_location(later)
            && match (self.eco_place(), later.eco_place()) {
                (Some(mine), Some(theirs)) => mine < theirs,
                _ => false,
            }
    }

    /// Returns the place of the access in `eco`. A write at a place of coherence order precedes the reads
    /// of it, and these precede the next write.
    fn eco_place(&self) -> Option<u32> {
        match (self.written, self.read) {
            (Some(place), _) => Some(twice(place, false)),
            (None, Some(place)) => Some(twice(place, true)),
            (None, None) => None,
        }
    }

    fn shares_location(&self, other: &Touch) -> bool {
        self.location.is_some() && self.location == other.location
    }

    /// Returns the first and last place of the event in coherence order.
    fn places(&self) -> Option<(u32, u32)> {
        let last = self.written.or(self.read)?;
        Some((self.read.unwrap_or(last), last))
    }
}

/// The events of an execution, and the edges of `psc`; the memory is reused from one check to the
/// next.
#[derive(Debug, Default)]
pub(crate) struct Psc {
    rules: SeqCstRules,
    /// Thread after thread, in program order.
    events: Vec<Touch>,
    /// By thread, the range of its events.
    threads: Vec<Range<usize>>,
    /// The `SeqCst` events.
    strong: Vec<EventAt>,
    /// By `SeqCst` event, its successors in `psc`.
    edges: Vec<Vec<u32>>,
    locations: u32,
    /// True when one of the `SeqCst` events is a fence.
    has_fence: bool,
}

/// An event, as its thread and its position in the thread.
type EventAt = (u32, u32);

impl Psc {
    pub(crate) fn new(rules: SeqCstRules) -> Self {
        Psc {
            rules,
            ..Psc::default()
        }
    }

    /// Returns the definition of the pairs.
    pub(crate) fn rules(&self) -> SeqCstRules {
        self.rules
    }

    /// Removes all events.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.threads.clear();
        self.strong.clear();
        self.locations = 0;
        self.has_fence = false;
    }

    /// Begins the next thread.
    pub(crate) fn begin_thread(&mut self) {
        self.threads.push(self.events.len()..self.events.len());
    }

    /// Adds the next event of the current thread.
    pub(crate) fn add(&mut self, touch: Touch) {
        self.events.push(touch);
        let thread = self.threads.len() - 1;
        let range = &mut self.threads[thread];
        if touch.seq_cst {
            self.has_fence |= touch.fence;
            self.strong.push((thread as u32, range.len() as u32));
        }
        if let Some(location) = touch.location {
            self.locations = self.locations.max(location + 1);
        }
        range.end = self.events.len();
    }

    fn touch(&self, (thread, index): EventAt) -> &Touch {
        &self.events[self.threads[thread as usize].start + index as usize]
    }

    fn len(&self, thread: u32) -> u32 {
        self.threads[thread as usize].len() as u32
    }

    /// True when `psc` is acyclic; `hb` returns an event's clock, in which the entry of
    /// the event's own thread is not read.
    pub(crate) fn holds<'c>(&mut self, hb: impl Fn(u32, u32) -> &'c [u32]) -> bool {
        let threads = self.strong.iter().map(|&(thread, _)| thread);
        let first = threads.clone().next();
        if threads.clone().all(|thread| Some(thread) == first) {
            return true;
        }
        if self.rules == SeqCstRules::Cpp20 && !self.has_fence {
            return self.holds_without_fences(hb);
        }
        self.holds_pair_by_pair(hb)
    }

    /// Decides the same as [`Psc::holds_pair_by_pair`] for the pairs of C++20 without fences, in time that
    /// is almost linear in the events. `shb` and `eco` are transitive, so that a few edges stand for all:
    /// to the next event of the thread, from the last event of each other thread, and from the events at
    /// one place of a location to those at its next.
    fn holds_without_fences<'c>(&mut self, hb: impl Fn(u32, u32) -> &'c [u32]) -> bool {
        let mut edges = self.take_edges();
        let mut ranges = vec![0..0; self.threads.len()];
        for (index, &(thread, _)) in self.strong.iter().enumerate() {
            let range: &mut Range<usize> = &mut ranges[thread as usize];
            let count = range.len();
            *range = index - count..index + 1;
        }
        for (to, &b) in self.strong.iter().enumerate() {
            if to > 0 && self.strong[to - 1].0 == b.0 {
                edges[to - 1].push(to as u32);
            }
            let Some(last) = self.last_before(b) else {
                continue;
            };
            let known = hb(b.0, last);
            for (thread, range) in ranges.iter().enumerate() {
                if thread == b.0 as usize {
                    continue;
                }
                let own = &self.strong[range.clone()];
                let count = own.partition_point(|&a| self.next_after(a) < known[thread]);
                if let Some(last) = count.checked_sub(1) {
                    edges[range.start + last].push(to as u32);
                }
            }
        }
        let place = |event: u32| {
            let touch = self.touch(self.strong[event as usize]);
            touch.location.zip(touch.eco_place())
        };
        let mut placed: Vec<u32> = (0..self.strong.len() as u32).collect();
        placed.retain(|&event| place(event).is_some());
        placed.sort_by_key(|&event| place(event));
        let mut earlier: &[u32] = &[];
        let mut count = self.strong.len();
        for group in placed.chunk_by(|&a, &b| place(a) == place(b)) {
            let location = |events: &[u32]| {
                events
                    .first()
                    .and_then(|&event| place(event))
                    .map(|it| it.0)
            };
            if location(earlier) == location(group) {
                // One more node between two groups, instead of an edge for every pair.
                if edges.len() == count {
                    edges.push(Vec::new());
                }
                edges[count].extend_from_slice(group);
                for &event in earlier {
                    edges[event as usize].push(count as u32);
                }
                count += 1;
            }
            earlier = group;
        }
        let holds = is_acyclic(&edges[..count]);
        self.edges = edges;
        holds
    }

    /// Returns cleared lists of edges, one for each `SeqCst` event at least.
    fn take_edges(&mut self) -> Vec<Vec<u32>> {
        let mut edges = std::mem::take(&mut self.edges);
        edges.iter_mut().for_each(Vec::clear);
        edges.resize_with(self.strong.len().max(edges.len()), Vec::new);
        edges
    }

    /// Decides for every pair of `SeqCst` events if it is in `psc`.
    fn holds_pair_by_pair<'c>(&mut self, hb: impl Fn(u32, u32) -> &'c [u32]) -> bool {
        let before = |a: EventAt, b: EventAt| match a.0 == b.0 {
            true => a.1 < b.1,
            false => hb(b.0, b.1)[a.0 as usize] > a.1,
        };
        let mut edges = self.take_edges();
        for (from, &a) in self.strong.iter().enumerate() {
            let reach = self
                .touch(a)
                .fence
                .then(|| self.first_places_after(a, &before));
            for (to, &b) in self.strong.iter().enumerate() {
                if from != to && self.leads(a, b, reach.as_deref(), &before) {
                    edges[from].push(to as u32);
                }
            }
        }
        let holds = is_acyclic(&edges[..self.strong.len()]);
        self.edges = edges;
        holds
    }

    /// True when `psc` has an edge from the `SeqCst` event `a` to `b`.
    fn leads(
        &self,
        a: EventAt,
        b: EventAt,
        reach: Option<&[u32]>,
        before: &impl Fn(EventAt, EventAt) -> bool,
    ) -> bool {
        let all = || {
            (0..self.threads.len() as u32)
                .flat_map(|thread| (0..self.len(thread)).map(move |index| (thread, index)))
        };
        let cpp20 = self.rules == SeqCstRules::Cpp20;
        let ordered = |a: EventAt, b: EventAt| match cpp20 {
            true => self.touch(a).eco(self.touch(b)),
            false => self.scb(a, b, before),
        };
        if cpp20 && self.strongly_happens_before(a, b, before) {
            return true;
        }
        match (reach, self.touch(b).fence) {
            (None, false) => ordered(a, b),
            (None, true) => ordered(a, b) || all().any(|y| before(y, b) && ordered(a, y)),
            (Some(_), false) => ordered(a, b) || all().any(|x| before(a, x) && ordered(x, b)),
            (Some(reach), true) => {
                !cpp20 && before(a, b)
                    || all().filter(|&y| before(y, b)).any(|y| {
                        let touch = self.touch(y);
                        let (Some(location), Some((_, last))) = (touch.location, touch.places())
                        else {
                            return false;
                        };
                        reach[location as usize] < twice(last, touch.written.is_none())
                    })
            }
        }
    }

    /// Returns for each location the first place in coherence order that is accessed after the
    /// fence. Places are doubled, plus one for a read: a write at a place precedes the reads of it,
    /// a read there does not.
    fn first_places_after(
        &self,
        fence: EventAt,
        before: &impl Fn(EventAt, EventAt) -> bool,
    ) -> Vec<u32> {
        let mut first = vec![u32::MAX; self.locations as usize];
        for thread in 0..self.threads.len() as u32 {
            for index in 0..self.len(thread) {
                let touch = self.touch((thread, index));
                let (Some(location), Some((place, _))) = (touch.location, touch.places()) else {
                    continue;
                };
                if before(fence, (thread, index)) {
                    let place = twice(place, touch.read.is_some());
                    let first = &mut first[location as usize];
                    *first = place.min(*first);
                }
            }
        }
        first
    }

    /// True when the pair is in `sb ∪ sb ; hb ; sb`, where an update is one event.
    fn strongly_happens_before(
        &self,
        a: EventAt,
        b: EventAt,
        before: &impl Fn(EventAt, EventAt) -> bool,
    ) -> bool {
        if a.0 == b.0 {
            return a.1 < b.1;
        }
        let (next, last) = (self.next_after(a), self.last_before(b));
        next < self.len(a.0) && last.is_some_and(|last| before((a.0, next), (b.0, last)))
    }

    /// True for the write of an update; the event may be past the end of its thread.
    fn continues(&self, (thread, index): EventAt) -> bool {
        index < self.len(thread) && self.touch((thread, index)).continues
    }

    /// Returns the position of the thread's next event after the event, or after the update that it
    /// begins.
    fn next_after(&self, (thread, index): EventAt) -> u32 {
        index + 1 + u32::from(self.continues((thread, index + 1)))
    }

    /// Returns the position of the thread's last event before the event, or before the update that it
    /// ends.
    fn last_before(&self, event: EventAt) -> Option<u32> {
        event.1.checked_sub(1 + u32::from(self.continues(event)))
    }

    fn scb(&self, a: EventAt, b: EventAt, before: &impl Fn(EventAt, EventAt) -> bool) -> bool {
        let (first, second) = (self.touch(a), self.touch(b));
        if a.0 == b.0 && a.1 < b.1 || first.is_overwritten_by(second) {
            return true;
        }
        if !before(a, b) {
            return false;
        }
        first.shares_location(second)
            || match (self.next_elsewhere(a), self.last_elsewhere(b)) {
                (Some(next), Some(last)) => before(next, last),
                _ => false,
            }
    }

    /// Returns the next event of the thread that does not access the same location.
    fn next_elsewhere(&self, (thread, index): EventAt) -> Option<EventAt> {
        let own = self.touch((thread, index));
        (index + 1..self.len(thread))
            .map(|next| (thread, next))
            .find(|&next| !own.shares_location(self.touch(next)))
    }

    /// Returns the last earlier event of the thread that does not access the same location.
    fn last_elsewhere(&self, (thread, index): EventAt) -> Option<EventAt> {
        let own = self.touch((thread, index));
        (0..index)
            .rev()
            .map(|last| (thread, last))
            .find(|&last| !own.shares_location(self.touch(last)))
    }
}

fn twice(place: u32, read: bool) -> u32 {
    2 * place + u32::from(read)
}

fn is_acyclic(edges: &[Vec<u32>]) -> bool {
    let mut incoming = vec![0u32; edges.len()];
    for &to in edges.iter().flatten() {
        incoming[to as usize] += 1;
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|&it| incoming[it] == 0).collect();
    let mut placed = 0;
    while let Some(from) = free.pop() {
        placed += 1;
        for &to in &edges[from] {
            incoming[to as usize] -= 1;
            if incoming[to as usize] == 0 {
                free.push(to as usize);
            }
        }
    }
    placed == edges.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    /// Adds random accesses of three threads, without fences; returns a clock for each event.
    fn fill(psc: &mut Psc, rng: &mut Rng) -> Vec<Vec<[u32; 3]>> {
        let mut below = |bound: usize| rng.below(bound) as u32;
        let mut clocks = Vec::new();
        psc.clear();
        for thread in 0..3 {
            psc.begin_thread();
            let mut own = Vec::new();
            let mut clock = [0; 3];
            while own.len() < 5 {
                let (location, place) = (Some(below(2)), Some(below(4)));
                let seq_cst = below(4) > 0;
                let touch = Touch {
                    location,
                    seq_cst,
                    ..Touch::default()
                };
                let read = Touch {
                    read: place,
                    ..touch
                };
                let written = place.map(|place| place + 1);
                let write = Touch { written, ..touch };
                let continues = Touch {
                    continues: true,
                    ..write
                };
                let unplaced = Touch {
                    seq_cst: false,
                    ..Touch::default()
                };
                let events = match below(5) {
                    0 | 1 => vec![read],
                    2 => vec![write],
                    3 => vec![read, continues],
                    _ => vec![unplaced],
                };
                for event in events {
                    psc.add(event);
                    clock = clock.map(|count| 5.min(count + u32::from(below(4) == 0)));
                    clock[thread] = own.len() as u32 + 1;
                    own.push(clock);
                }
            }
            clocks.push(own);
        }
        clocks
    }

    #[test]
    fn few_edges_decide_as_all_pairs_do() {
        let mut rng = Rng::new(1);
        let mut psc = Psc::new(SeqCstRules::Cpp20);
        let mut held = 0;
        for program in 0..20_000 {
            let clocks = fill(&mut psc, &mut rng);
            let hb = |thread: u32, index: u32| &clocks[thread as usize][index as usize][..];
            let all_pairs = psc.holds_pair_by_pair(hb);
            assert_eq!(psc.holds_without_fences(hb), all_pairs, "program {program}");
            held += u32::from(all_pairs);
        }
        assert!((200..19_800).contains(&held), "{held} of 20,000 hold");
    }
}
