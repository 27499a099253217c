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
        // A write at a place precedes the reads of it, and these precede the next write.
        let key = |touch: &Touch| match (touch.written, touch.read) {
            (Some(place), _) => Some(twice(place, false)),
            (None, Some(place)) => Some(twice(place, true)),
            (None, None) => None,
        };
        self.shares_location(later)
            && match (key(self), key(later)) {
                (Some(mine), Some(theirs)) => mine < theirs,
                _ => false,
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

    /// Removes all events.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.threads.clear();
        self.strong.clear();
        self.locations = 0;
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

    /// True when `psc` is acyclic; `hb` returns an event's clock, which includes the event.
    pub(crate) fn holds<'c>(&mut self, hb: impl Fn(u32, u32) -> &'c [u32]) -> bool {
        let threads = self.strong.iter().map(|&(thread, _)| thread);
        let first = threads.clone().next();
        if threads.clone().all(|thread| Some(thread) == first) {
            return true;
        }
        let before = |a: EventAt, b: EventAt| a != b && hb(b.0, b.1)[a.0 as usize] > a.1;
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            edge.clear();
        }
        edges.resize_with(self.strong.len().max(edges.len()), Vec::new);
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
        let continues = |(thread, index): EventAt| {
            index < self.len(thread) && self.touch((thread, index)).continues
        };
        let mut next = (a.0, a.1 + 1);
        next.1 += u32::from(continues(next));
        let last = b.1.checked_sub(1 + u32::from(continues(b)));
        next.1 < self.len(a.0) && last.is_some_and(|last| before(next, (b.0, last)))
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
