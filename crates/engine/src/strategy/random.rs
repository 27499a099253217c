//! Every step a uniform choice among the enabled threads.

use super::{Choice, Divergence, Strategy};
use crate::rng::Rng;
use crate::world::State;

/// A random walk from a seed; the same seed gives the same schedules.
#[derive(Debug)]
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

    fn pick(&mut self, bound: u32) -> u32 {
        if bound == 1 {
            0
        } else {
            self.rng.below(bound as usize) as u32
        }
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let enabled = state.enabled();
        let thread = enabled[self.pick(enabled.len() as u32) as usize];
        Ok(Choice {
            thread,
            source: self.pick(state.sources(thread)),
            outcome: self.pick(state.outcomes(thread)),
        })
    }
}
