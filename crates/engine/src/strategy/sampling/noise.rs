//! Noise: threads run on, with a random preemption now and then.
//!
//! A thread runs until it blocks, yields or ends; at every step another thread preempts it with
//! some probability. Noise makers do the same to uncontrolled programs (Edelstein, Farchi, Nir,
//! Ratsaby, Ur, "Multithreaded Java Program Test Generation", IBM Systems Journal 2002). Little
//! noise gives few preemptions, much noise is a random walk.

use super::{Foregone, Turns};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::operation::Operation;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Strategy};

/// Maximum consecutive steps of a thread that others may be waiting for in a loop.
const LONG_TURN: u64 = 1_000;

/// Random preemptions.
#[derive(Clone, Debug)]
pub struct Noise {
    rng: Rng,
    probability: f64,
    foregone: Foregone,
    turns: Turns,
    /// The last thread, and true when it yielded.
    last: Option<(ThreadId, bool)>,
}

impl Noise {
    /// Creates a strategy that preempts with this probability at every step.
    pub fn new(probability: f64, seed: u64) -> Self {
        Noise {
            rng: Rng::new(seed),
            probability,
            foregone: Foregone::default(),
            turns: Turns::default(),
            last: None,
        }
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        match self.last {
            Some((last, yielded)) if state.is_enabled(last) => {
                match yielded || self.rng.unit() < self.probability {
                    true => self.other(state, last),
                    false => last,
                }
            }
            _ => sampling::any(&mut self.rng, state),
        }
    }

    /// Returns another enabled thread, if there is one.
    fn other(&mut self, state: &State, last: ThreadId) -> ThreadId {
        let others = || state.enabled().iter().filter(|&&thread| thread != last);
        match others().count() {
            0 => last,
            count => {
                let drawn = sampling::below(&mut self.rng, count as u32);
                *others()
                    .nth(drawn as usize)
                    .expect("the draw is below the count")
            }
        }
    }
}

impl Strategy for Noise {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.turns = Turns::default();
        self.last = None;
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        if let Some(thread) = self.foregone.next(state) {
            return Ok(sampling::run(&mut self.rng, state, thread));
        }
        let mut thread = self.pick(state);
        if self.turns.note(state, thread) > LONG_TURN {
            self.turns = Turns::default();
            thread = self.other(state, thread);
        }
        self.last = Some((thread, *state.pending(thread) == Operation::Yield));
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
