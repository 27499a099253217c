//! Delays threads at given source locations, so that they are there at the same time.
//!
//! This tests whether locks taken in different orders can deadlock. Every thread that is about to
//! take its second lock waits until no other thread can run. If each then holds a lock that another
//! one wants, that is a deadlock. (DeadlockFuzzer, Joshi et al., PLDI 2009, does the same.)

use crate::base::ids::{SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::operation::Operation;
use crate::world::State;
use crate::world::strategy::Strategy;

/// Random walks that reach given source locations as late as possible.
#[derive(Debug)]
pub struct Holdback {
    places: Vec<SiteId>,
    rng: Rng,
}

impl Holdback {
    /// Creates a strategy that delays threads about to make a call at one of these locations.
    pub fn new(places: Vec<SiteId>, seed: u64) -> Self {
        Holdback {
            places,
            rng: Rng::new(seed),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound > 1 { self.rng.below(bound) } else { 0 }
    }
}

impl Strategy for Holdback {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let is_held = |&thread: &ThreadId| {
            matches!(state.pending(thread), Operation::Call { .. })
                && self.places.contains(&state.pending_site(thread))
        };
        let mut threads: Vec<ThreadId> = state.enabled().to_vec();
        if threads.iter().any(|thread| !is_held(thread)) {
            threads.retain(|thread| !is_held(thread));
        }
        let thread = threads[self.below(threads.len())];
        let outcome = self.below(state.outcomes(thread) as usize);
        let outcome = Outcome::nth(outcome as u32);
        Ok(match state.allows(thread, outcome) {
            true => Choice { thread, outcome },
            false => Choice::run(thread),
        })
    }
}
