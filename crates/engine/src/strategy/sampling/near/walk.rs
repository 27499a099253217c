//! A random walk over the operations near a change.
//!
//! Every order of these operations is equally likely, as far as threads do not wait for each other: a thread is drawn in
//! proportion to its remaining ones (see [`Shares`]). Few steps are drawn among all threads, as a bug may need one elsewhere.
//!
//! It is a sampler in the spirit of change-aware preemption prioritisation, which orders a search (Jagannath, Luo,
//! Marinov, "Change-Aware Preemption Prioritization", ISSTA 2011).

use super::super::{Foregone, Impact, Shares};
use super::Region;
use super::turns::Approach;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Strategy};

/// Number of steps of which one is drawn among all threads.
const ELSEWHERE: usize = 50;

/// Random walk over the operations near a change.
#[derive(Clone, Debug)]
pub struct NearWalk {
    rng: Rng,
    region: Region,
    foregone: Foregone,
    shares: Shares,
    approach: Approach,
    weights: Vec<f64>,
}

impl NearWalk {
    /// Creates the walk for these source locations.
    pub fn new(impact: Impact, seed: u64) -> Self {
        NearWalk {
            rng: Rng::new(seed),
            region: Region::new(impact),
            foregone: Foregone::default(),
            shares: Shares::default(),
            approach: Approach::default(),
            weights: Vec::new(),
        }
    }

    /// Adds the source locations that use the same locations and objects.
    pub fn wide(mut self) -> Self {
        self.region.is_wide = true;
        self
    }

    /// Returns the next thread, and true if its operation is near the change.
    fn pick(&mut self, state: &State) -> (ThreadId, bool) {
        let on_its_way = self.approach.next(&mut self.rng, state, &mut self.region);
        if self.rng.below(ELSEWHERE) == 0 {
            let thread = sampling::any(&mut self.rng, state);
            return (thread, self.approach.there.contains(&thread));
        }
        if let Some(thread) = on_its_way {
            return (thread, false);
        }
        let left = |&thread: &ThreadId| self.shares.left(thread).max(1.0);
        self.weights.clear();
        self.weights.extend(self.approach.there.iter().map(left));
        let drawn = sampling::weighted(&mut self.rng, self.weights.iter().copied());
        (self.approach.there[drawn.expect("no weight is zero")], true)
    }
}

impl Strategy for NearWalk {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.shares.begin();
        self.approach.begin();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        while self.shares.meet(state).is_some() {}
        if let Some(thread) = self.foregone.next(state) {
            self.shares.performs(thread, state.pending(thread), false);
            return Ok(sampling::run(&mut self.rng, state, thread));
        }
        let (thread, counts) = self.pick(state);
        let performed = self.approach.performs(&mut self.rng, state, thread);
        self.shares
            .performs(performed, state.pending(performed), counts);
        Ok(sampling::run(&mut self.rng, state, performed))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.region.learn(execution);
        if sampling::is_whole(ending) {
            // Source locations without a thing are not counted.
            let known = &self.region.known;
            let counts =
                |event: &Event| known.get(event.site.index()).copied().flatten() == Some(true);
            self.shares.meet_all(execution);
            self.shares.learn(execution, counts);
        }
    }

    fn learn(&mut self, execution: &Execution, ending: &Ending) {
        self.begin();
        self.end(execution, ending);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
