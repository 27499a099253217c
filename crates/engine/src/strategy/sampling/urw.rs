//! URW, a uniform random walk: every interleaving is equally likely.
//!
//! In a plain random walk short threads end long before long ones. Here a thread runs with a
//! probability proportional to its remaining events, as learned from earlier executions
//! (`shares.rs`); the first execution is a plain random walk. If threads block only on joins at
//! their ends, and have the same number of events in every execution, all interleavings are equally
//! likely. (Zhao, Wolff, Mathur, Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS
//! 2025.)

use super::{Foregone, Shares};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Lesson, Strategy};

/// Uniform random walk over interleavings.
#[derive(Clone, Debug)]
pub struct Urw {
    rng: Rng,
    foregone: Foregone,
    shares: Shares,
    /// Weights of the enabled threads; kept for its memory.
    weights: Vec<f64>,
}

impl Urw {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        Urw {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            shares: Shares::default(),
            weights: Vec::new(),
        }
    }

    /// Draws an enabled thread in proportion to its remaining events.
    fn draw(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        if let [only] = *enabled {
            return only;
        }
        // The pending operation remains in any case, whatever was learned.
        let left = |&thread: &ThreadId| self.shares.left(thread).max(1.0);
        self.weights.clear();
        self.weights.extend(enabled.iter().map(left));
        let drawn = sampling::weighted(&mut self.rng, self.weights.iter().copied());
        enabled[drawn.expect("no weight is zero")]
    }
}

impl Strategy for Urw {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.shares.begin();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        while self.shares.meet(state).is_some() {}
        let foregone = self.foregone.next(state);
        let thread = foregone.unwrap_or_else(|| self.draw(state));
        let counts = foregone.is_none();
        self.shares.performs(thread, state.pending(thread), counts);
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        if sampling::is_whole(ending) {
            let counts = |event: &Event| !self.foregone.includes(&event.operation);
            self.shares.meet_all(execution);
            self.shares.learn(execution, counts);
        }
    }

    fn learn(&mut self, execution: &Execution, ending: &Ending) {
        self.begin();
        self.end(execution, ending);
    }

    fn lessons(&self) -> Vec<Lesson> {
        self.shares.lessons()
    }

    fn recall(&mut self, lesson: &Lesson) {
        if let Lesson::Lengths { thread, stretches } = lesson {
            self.shares.recall(thread, stretches);
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
