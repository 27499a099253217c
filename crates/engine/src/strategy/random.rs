//! Every step a uniform choice among the enabled threads.

use super::{Choice, Divergence, Strategy};
use crate::rng::Rng;
use crate::world::State;

/// A random walk from a seed; the same seed gives the same schedules.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
}

impl Random {
    /// A walk that depends on nothing but the seed and the program.
    pub fn new(seed: u64) -> Self {
        Random {
            rng: Rng::new(seed),
        }
    }

    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        if bound == 1 {
            0
        } else {
            self.rng.below(bound as usize) as u32
        }
    }

    #[inline]
    pub(crate) fn pick(&mut self, state: &State) -> Choice {
        let enabled = state.enabled();
        let thread = enabled[self.below(enabled.len() as u32) as usize];
        let outcomes = state.outcomes(thread);
        let mut outcome = self.below(outcomes);
        while outcome != 0 && !state.allows(thread, outcome) {
            outcome = self.below(outcomes);
        }
        Choice { thread, outcome }
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        Ok(self.pick(state))
    }

    fn draws(&self) -> bool {
        true
    }

    fn watches(&self) -> bool {
        false
    }

    fn as_random(&self) -> Option<Random> {
        Some(self.clone())
    }
}
