//! Uniform random walk: each step chooses uniformly among the enabled threads.

use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::world::strategy::{Capabilities, Strategy};
use crate::world::{State, walk};

/// A random walk; the same seed gives the same schedules.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
}

impl Random {
    /// Creates a walk that depends only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        Random {
            rng: Rng::new(seed),
        }
    }

    /// Returns the random numbers from which all choices are drawn.
    #[inline(always)]
    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    #[inline]
    pub(crate) fn pick(&mut self, state: &State) -> Choice {
        let thread = walk::any(&mut self.rng, state);
        walk::run(&mut self.rng, state, thread)
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        Ok(self.pick(state))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
