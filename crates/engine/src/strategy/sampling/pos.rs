//! Partial-order sampling: a random priority for every operation.
//!
//! The enabled operation with the highest priority is performed. What its thread does next gets a new
//! priority, and so does every operation that races with the one performed; all others keep theirs. So
//! the order of operations that have nothing to do with each other, of which there are many, does not
//! decide about the order of those that do. (Yuan, Yang, Gu, "Partial Order Aware Concurrency
//! Sampling", CAV 2018.)
//!
//! Threads that wait in loops and race with each other get a new priority with every turn, so one of them is nearly
//! always before a thread with a low one, even if that is what they wait for. So every now and then all are drawn
//! again.

use super::{Foregone, Priorities};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::Strategy;

/// After so many steps all priorities are drawn again.
const LONG_WAIT: u64 = 1_000;

/// Random priorities for operations, drawn again where they race.
#[derive(Clone, Debug)]
pub struct Pos {
    rng: Rng,
    foregone: Foregone,
    priorities: Priorities,
    steps: u64,
}

impl Pos {
    /// Depends on nothing but the seed and the program.
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
        for other in (0..state.execution().threads.len()).map(ThreadId::new) {
            if other != thread && sampling::races(state, thread, other) {
                self.priorities.redraw(&mut self.rng, other);
            }
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
        self.priorities.begin();
        self.steps = 0;
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.priorities.meet(&mut self.rng, state);
        let thread = self.pick(state);
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn draws(&self) -> bool {
        true
    }

    fn watches(&self) -> bool {
        false
    }

    fn with_seed(&self, seed: u64) -> Option<Box<dyn Strategy>> {
        Some(Box::new(Self::new(seed)))
    }
}
