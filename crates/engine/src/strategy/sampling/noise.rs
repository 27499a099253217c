//! Noise: threads run on, with a random preemption now and then.
//!
//! A thread runs until it blocks, yields or ends; at every step another thread preempts it with
//! some probability. Noise makers do the same to uncontrolled programs (Edelstein, Farchi, Nir,
//! Ratsaby, Ur, "Multithreaded Java Program Test Generation", IBM Systems Journal 2002). Little
//! noise gives few preemptions, much noise is a random walk.
//!
//! After a change of the program, most preemptions are near the change: the priority of change-aware
//! preemption prioritisation, which orders a search, as the probability of a sampler (Jagannath, Luo,
//! Marinov, "Change-Aware Preemption Prioritization", ISSTA 2011).

use super::{Foregone, Impact, Turns};
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

/// Probability of a preemption near a change, and elsewhere: few executions are without one near it, and
/// most are without any other.
const NEAR: f64 = 0.5;
const ELSEWHERE: f64 = 0.02;

/// Random preemptions.
#[derive(Clone, Debug)]
pub struct Noise {
    rng: Rng,
    probability: f64,
    foregone: Foregone,
    turns: Turns,
    /// The last thread, and true when it yielded.
    last: Option<(ThreadId, bool)>,
    /// The source locations near a change.
    impact: Option<Impact>,
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
            impact: None,
        }
    }

    /// Creates a strategy that mostly preempts threads at these source locations.
    pub fn near(impact: Impact, seed: u64) -> Self {
        Noise {
            impact: Some(impact),
            ..Noise::new(NEAR, seed)
        }
    }

    /// Returns the probability that the thread is preempted now.
    fn probability(&mut self, state: &State, thread: ThreadId) -> f64 {
        let is_near = |impact: &mut Impact| impact.contains(state.pending_site(thread));
        match self.impact.as_mut().is_none_or(is_near) {
            true => self.probability,
            false => ELSEWHERE,
        }
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        match self.last {
            Some((last, yielded)) if state.is_enabled(last) => {
                let probability = self.probability(state, last);
                match yielded || self.rng.unit() < probability {
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
