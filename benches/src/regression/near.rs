//! Change-aware preemption prioritisation as a search of random schedules.
//!
//! A thread runs until it blocks, and is preempted with a probability of one half at lines near the change, and nowhere
//! else. (Jagannath, Luo, Marinov, ISSTA 2011, order the preemptions of a systematic search in this way; near is here
//! what they call METHOD, and some thread of those that are enabled, SOME.)

use raddle::Scheduler;
use raddle::scheduler::{Choice, ThreadId, View};

use super::change::Lines;

pub(super) struct NearChange {
    near: Vec<Lines>,
    /// By source location: true for one near the change, once it was looked up.
    known: Vec<Option<bool>>,
    random: u64,
    last: Option<ThreadId>,
}

impl NearChange {
    pub(super) fn new(near: Vec<Lines>, seed: u64) -> Self {
        NearChange {
            near,
            known: Vec::new(),
            random: seed,
            last: None,
        }
    }

    /// Returns a random number below the bound.
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    fn is_near(&mut self, site: usize, location: impl FnOnce() -> Option<String>) -> bool {
        if site >= self.known.len() {
            self.known.resize(site + 1, None);
        }
        let near = &self.near;
        *self.known[site].get_or_insert_with(|| {
            let location = location().unwrap_or_default();
            let mut parts = location.rsplitn(3, ':');
            let line = parts.nth(1).and_then(|line| line.parse::<u32>().ok());
            let file = parts.next().unwrap_or_default();
            near.iter().any(|(name, first, last)| {
                name == file && line.is_some_and(|line| (*first..=*last).contains(&line))
            })
        })
    }
}

impl Scheduler for NearChange {
    fn begin(&mut self) -> bool {
        self.last = None;
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        let enabled: Vec<_> = view.enabled().collect();
        let last = enabled.iter().find(|it| Some(it.id()) == self.last);
        let stays = last.is_some_and(|last| {
            let operation = last.operation();
            !(self.is_near(operation.site(), || operation.location()) && self.below(2) == 0)
        });
        let next = match last {
            Some(last) if stays => *last,
            _ => enabled[self.below(enabled.len())],
        };
        self.last = Some(next.id());
        let outcome = self.below(next.outcomes() as usize);
        next.with_outcome(outcome as u32)
    }
}
