//! Partial-order sampling (POS): a random priority for every operation.
//!
//! The enabled operation with the highest priority is performed. The next operation of its thread
//! gets a new priority, and so does every operation that races with it; all others keep theirs. So
//! the many orders of independent operations do not influence the order of dependent ones. (Yuan,
//! Yang, Gu, "Partial Order Aware Concurrency Sampling", CAV 2018.)
//!
//! Threads that busy-wait and race with each other get a new priority at every step. So one of them
//! nearly always precedes a thread with a low priority, even if they wait for that one. So all
//! priorities are redrawn now and then.

use super::{Foregone, Priorities};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Strategy};

/// Steps after which all priorities are redrawn.
const LONG_WAIT: u64 = 1_000;

/// Random priorities of operations, redrawn where they race.
#[derive(Clone, Debug)]
pub struct Pos {
    rng: Rng,
    foregone: Foregone,
    priorities: Priorities,
    steps: u64,
}

impl Pos {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        Pos {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            priorities: Priorities::default(),
            steps: 0,
        }
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        if let Some(thread) = self.foregone.next(state) {
            return thread;
        }
        let thread = self.priorities.highest(state, |_| true);
        let thread = thread.expect("some thread is enabled");
        for other in sampling::racing(state, thread) {
            self.priorities.redraw(&mut self.rng, other);
        }
        self.priorities.performs(&mut self.rng, state, thread);
        self.steps += 1;
        if self.steps.is_multiple_of(LONG_WAIT) {
            self.priorities.redraw_all(&mut self.rng);
        }
        thread
    }
}

impl Strategy for Pos {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.priorities.begin();
        self.steps = 0;
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.priorities.meet(&mut self.rng, state);
        let thread = self.pick(state);
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
