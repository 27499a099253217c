//! The least number of preemptions over all linearizations of an outline.
//!
//! A best-first search over cuts and the running thread. In the worst case it visits all cuts,
//! whose number is the product of the threads' lengths. It visits far fewer, because a thread whose
//! next step is ready is switched from in two places only:
//!
//! - after a yield or a sleep, where a switch is free;
//! - before a step that may unblock another thread, because switching from a blocked thread is
//!   free.
//!
//! Anywhere else the thread can do the step before the switch: no other switch costs more for that,
//! and the switch one step later costs no more either. For the same reason, a thread that reaches a
//! free switch without unblocking any other can run first.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::outline::{Cut, Outline};
use crate::base::ids::EventId;

/// A cut, followed by the thread that does the next step.
type CutAndThread = Box<[u32]>;

/// Number of threads up to which the effort is not reduced. A position has a number for each thread, so that with
/// hundreds of them it would take more memory than the search itself.
const FEW_THREADS: usize = 16;

impl Outline<'_> {
    /// True when some linearization has at most `preemptions` preemptions; `None` if that is
    /// unknown after `effort` steps.
    pub(super) fn costs_at_most(&self, preemptions: u32, effort: usize) -> Option<bool> {
        if self.greedy_cost() <= preemptions {
            return Some(true);
        }
        let mut walk = Walk::of(self);
        match walk.ends_within(preemptions, effort) {
            WalkEnd::At(_) => Some(true),
            WalkEnd::TooFar => Some(false),
            WalkEnd::TooMuch => None,
        }
    }

    /// Returns the thread of each step of a linearization with the fewest preemptions; `None` if
    /// that takes more than `preemptions` or more than `effort` steps.
    pub(super) fn cheapest_order(&self, preemptions: u32, effort: usize) -> Option<Vec<usize>> {
        let mut walk = Walk::of(self);
        let WalkEnd::At(end) = walk.ends_within(preemptions, effort) else {
            return None;
        };
        let mut order = Vec::new();
        let whole = self.steps.iter().map(|steps| steps.len() as u32).collect();
        let (mut at, mut until): (usize, Vec<u32>) = (end, whole);
        loop {
            let (place, before) = &walk.trail[at];
            let (&thread, cut) = place.split_last().expect("a place has a thread");
            let thread = thread as usize;
            order.extend((cut[thread]..until[thread]).map(|_| thread));
            if *before == at {
                break;
            }
            until.copy_from_slice(cut);
            at = *before;
        }
        order.reverse();
        Some(order)
    }
}

impl Outline<'_> {
    /// Returns the number of preemptions of this linearization.
    pub(super) fn preemptions_of(&self, order: &[EventId]) -> u32 {
        let mut cut = vec![0; self.steps.len()];
        let (mut last, mut preemptions) = (0, 0);
        for event in order.iter().filter(|&&event| self.has(event)) {
            let thread = event.thread.index();
            let leaves = thread != last && !self.makes_way(last, &cut);
            preemptions += u32::from(leaves && self.can_go_on(last, &cut));
            cut[thread] += 1;
            last = thread;
        }
        preemptions
    }

    /// True when some order has every step after its predecessors.
    pub(super) fn has_linearization(&self, effort: usize) -> bool {
        let searched = || Walk::of(self).ends_within(u32::MAX - 1, effort);
        self.greedy_cost() != u32::MAX || !matches!(searched(), WalkEnd::TooFar)
    }

    /// Returns the number of preemptions if each thread runs as far as it can, followed by the one
    /// that gets furthest. Seldom more than the least.
    fn greedy_cost(&self) -> u32 {
        let mut cut = vec![0; self.steps.len()];
        let (mut thread, mut preemptions) = (0, 0);
        loop {
            while self.next_ready(thread, &cut).is_some() {
                cut[thread] += 1;
            }
            if self.is_complete(&cut) {
                return preemptions;
            }
            let interrupted = !self.makes_way(thread, &cut) && self.can_go_on(thread, &cut);
            preemptions += u32::from(interrupted);
            let reach = |&other: &usize| self.reach(other, &mut cut.clone());
            let others = (0..self.steps.len()).filter(|&other| reach(&other).1 > 0);
            match others.max_by_key(reach) {
                Some(other) => thread = other,
                // No thread is ready: the caller then searches.
                None => return u32::MAX,
            }
        }
    }

    /// Rates a switch to the thread: true when it reaches a free switch, and the number of steps
    /// until then.
    fn reach(&self, thread: usize, cut: &mut Cut) -> (bool, u32) {
        let start = cut[thread];
        while self.next_ready(thread, cut).is_some() {
            cut[thread] += 1;
        }
        let steps = cut[thread] - start;
        (steps > 0 && !self.can_go_on(thread, cut), steps)
    }

    /// True when the thread's last step is a yield or a sleep.
    fn makes_way(&self, thread: usize, cut: &Cut) -> bool {
        let last = cut[thread].checked_sub(1);
        last.is_some_and(|last| self.steps[thread][last as usize].makes_way)
    }

    /// True when the thread, which is ready, reaches a free switch without a step that may unblock
    /// another.
    fn may_go_first(&self, thread: usize, cut: &mut Cut) -> bool {
        while let Some(step) = self.next_ready(thread, cut) {
            if step.releases {
                return false;
            }
            cut[thread] += 1;
            if self.makes_way(thread, cut) {
                return true;
            }
        }
        !self.can_go_on(thread, cut)
    }
}

struct Walk<'a> {
    outline: &'a Outline<'a>,
    seen: HashSet<CutAndThread, BuildHasherDefault<Mixed>>,
    /// Positions with the same cost as the current one.
    now: Vec<Pending>,
    /// Positions that cost one more.
    later: Vec<Pending>,
    /// Positions before other threads take over, one after the other.
    places: Vec<u32>,
    /// Positions at which threads took over, each with the index of its predecessor; the first one
    /// has its own.
    trail: Vec<(CutAndThread, usize)>,
}

/// A position from which the walk has not gone on.
#[derive(Clone, Copy)]
struct Pending {
    /// Index of its cut in `places`.
    cut: usize,
    /// The thread that takes over there.
    thread: u32,
    /// Index of its predecessor in the trail.
    before: usize,
}

/// The result of a walk.
enum WalkEnd {
    /// All threads are done; the last one took over at this index of the trail.
    At(usize),
    /// Every linearization costs more than allowed.
    TooFar,
    /// The effort is used up.
    TooMuch,
}

impl<'a> Walk<'a> {
    fn of(outline: &'a Outline<'a>) -> Self {
        let start = Pending {
            cut: 0,
            thread: 0,
            before: 0,
        };
        Walk {
            outline,
            seen: HashSet::default(),
            now: vec![start],
            later: Vec::new(),
            places: vec![0; outline.steps.len() + 1],
            trail: Vec::new(),
        }
    }

    fn place(&self, pending: Pending) -> CutAndThread {
        let width = self.outline.steps.len() + 1;
        let mut place: CutAndThread = self.places[pending.cut..pending.cut + width].into();
        *place.last_mut().expect("a place has a thread") = pending.thread;
        place
    }

    fn ends_within(&mut self, preemptions: u32, effort: usize) -> WalkEnd {
        let threads = self.outline.steps.len().max(FEW_THREADS);
        let effort = effort * FEW_THREADS / threads;
        for _ in 0..=preemptions {
            while let Some(pending) = self.now.pop() {
                if self.seen.len() > effort {
                    return WalkEnd::TooMuch;
                }
                if self.go_on(self.place(pending), pending.before) {
                    return WalkEnd::At(self.trail.len() - 1);
                }
            }
            if self.later.is_empty() {
                break;
            }
            std::mem::swap(&mut self.now, &mut self.later);
        }
        WalkEnd::TooFar
    }

    /// Runs the thread as far as it can and records the positions where others could take over;
    /// returns true when all threads are done.
    fn go_on(&mut self, mut place: CutAndThread, before: usize) -> bool {
        let outline = self.outline;
        if !self.seen.insert(place.clone()) {
            return false;
        }
        self.trail.push((place.clone(), before));
        let (thread, cut) = place.split_last_mut().expect("a place has a thread");
        let thread = *thread as usize;
        if cut[thread] as usize == outline.steps[thread].len() {
            return outline.is_complete(cut);
        }
        // The thread that takes over does at least one step.
        cut[thread] += 1;
        loop {
            let makes_way = outline.makes_way(thread, &place);
            let Some(step) = outline.next_ready(thread, &place) else {
                if outline.is_complete(&place[..place.len() - 1]) {
                    return true;
                }
                let interrupted = !makes_way && outline.can_go_on(thread, &place);
                self.take_over(&place, interrupted);
                return false;
            };
            if makes_way || step.releases {
                if !self.seen.insert(place.clone()) {
                    return false;
                }
                self.take_over(&place, !makes_way);
            }
            place[thread] += 1;
        }
    }

    /// Records that every other ready thread takes over, or only one that may as well run first.
    fn take_over(&mut self, place: &CutAndThread, interrupted: bool) {
        let (&thread, cut) = place.split_last().expect("a place has a thread");
        let places = match interrupted {
            true => &mut self.later,
            false => &mut self.now,
        };
        let known = places.len();
        let before = self.trail.len() - 1;
        let start = self.places.len();
        self.places.extend_from_slice(place);
        let mut ahead = place.clone();
        for other in (0..cut.len()).filter(|&other| other != thread as usize) {
            if self.outline.next_ready(other, cut).is_none() {
                continue;
            }
            let first = self.outline.may_go_first(other, &mut ahead);
            // Only steps of that thread were taken.
            ahead[other] = cut[other];
            if first {
                places.truncate(known);
            }
            places.push(Pending {
                cut: start,
                thread: other as u32,
                before,
            });
            if first {
                return;
            }
        }
    }
}

/// A fast hash of a few small numbers.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
