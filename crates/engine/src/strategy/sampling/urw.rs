//! A uniform random walk: every order of events is equally likely.
//!
//! In a plain random walk short threads are over long before long ones. Here a thread goes on with a
//! probability in proportion to how many events it has still to come, as `sampler/shares.rs` learns
//! from earlier executions; the first execution is a plain random walk. If threads do not wait for
//! each other but by joining at their ends, and have as many events in every execution, all orders of
//! these are equally likely. (Zhao, Wolff, Mathur, Roychoudhury, "Selectively Uniform Concurrency
//! Testing", ASPLOS 2025.)

use super::{Foregone, Shares};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::Strategy;

/// A random walk in which every order is equally likely.
#[derive(Clone, Debug)]
pub struct Urw {
    rng: Rng,
    foregone: Foregone,
    shares: Shares,
}

impl Urw {
    /// Depends on nothing but the seed and the program.
    pub fn new(seed: u64) -> Self {
        Urw {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            shares: Shares::default(),
        }
    }

    /// One of the enabled threads, by what they have left.
    fn draw(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        if let [only] = *enabled {
            return only;
        }
        // What it is about to do is left, whatever was learned.
        let left = |&thread: &ThreadId| self.shares.left(thread).max(1.0);
        let drawn = sampling::weighted(&mut self.rng, enabled.iter().map(left));
        enabled[drawn.expect("no weight is zero")]
    }
}

impl Strategy for Urw {
    fn begin(&mut self) -> bool {
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
