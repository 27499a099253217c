//! A random walk over what a change of the program can affect.
//!
//! Threads run up to their next operation near the change, and of threads that are there, one is drawn. So the walk is
//! one through a small program, whatever is around the change. Near it are the operations at given source locations, and
//! for the *wide* walk all that use a location or an object that one of them uses, in this execution or in one
//! before: the reader of what a changed writer writes. Few steps are drawn among all threads, as a bug may need one elsewhere.
//!
//! The narrow walk is a sampler in the spirit of change-aware preemption prioritisation, which orders a search (Jagannath,
//! Luo, Marinov, "Change-Aware Preemption Prioritization", ISSTA 2011).

use std::collections::HashSet;

use super::target::Thing;
use super::{Foregone, Impact, Turns};
use crate::base::ids::{SiteId, ThreadId};
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Strategy};

/// Maximum consecutive steps of a thread that others may be waiting for in a loop.
const LONG_TURN: u64 = 1_000;
/// Number of steps of which one is drawn among all threads.
const ELSEWHERE: usize = 50;

/// Random walk over operations near a change.
#[derive(Clone, Debug)]
pub struct Near {
    rng: Rng,
    impact: Impact,
    is_wide: bool,
    foregone: Foregone,
    turns: Turns,
    last: Option<ThreadId>,
    /// What operations near the change have used in this execution.
    things: HashSet<Thing>,
    /// Source locations that use the same, in executions before.
    sites: HashSet<SiteId>,
    candidates: Vec<ThreadId>,
}

impl Near {
    /// Creates the narrow walk for these source locations.
    pub fn new(impact: Impact, seed: u64) -> Self {
        Near {
            rng: Rng::new(seed),
            impact,
            is_wide: false,
            foregone: Foregone::default(),
            turns: Turns::default(),
            last: None,
            things: HashSet::new(),
            sites: HashSet::new(),
            candidates: Vec::new(),
        }
    }

    /// Makes it the wide walk.
    pub fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    /// True when the next operation of the thread is near the change.
    fn is_near(&mut self, state: &State, thread: ThreadId) -> bool {
        let site = state.pending_site(thread);
        let thing = Thing::of(state.pending(thread));
        if self.impact.contains(site) {
            self.things.extend(thing);
            return true;
        }
        self.is_wide
            && (self.sites.contains(&site) || thing.is_some_and(|it| self.things.contains(&it)))
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        self.candidates.clear();
        for &thread in enabled {
            if !self.is_near(state, thread) {
                self.candidates.push(thread);
            }
        }
        if self.rng.below(ELSEWHERE) == 0 || self.candidates.is_empty() {
            return sampling::any(&mut self.rng, state);
        }
        // A thread that yields lets another run.
        let goes_on = |thread: &ThreadId| {
            self.candidates.contains(thread) && *state.pending(*thread) != Operation::Yield
        };
        match self.last.filter(goes_on) {
            Some(last) => last,
            None => self.candidates[self.rng.below(self.candidates.len())],
        }
    }
}

impl Strategy for Near {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.turns = Turns::default();
        self.last = None;
        self.things.clear();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        if let Some(thread) = self.foregone.next(state) {
            return Ok(sampling::run(&mut self.rng, state, thread));
        }
        let mut thread = self.pick(state);
        if self.turns.note(state, thread) > LONG_TURN {
            self.turns = Turns::default();
            thread = sampling::any(&mut self.rng, state);
        }
        self.last = Some(thread);
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn end(&mut self, execution: &Execution, _ending: &Ending) {
        if !self.is_wide {
            return;
        }
        self.things.clear();
        for event in &execution.events {
            if self.impact.contains(event.site) {
                self.things.extend(Thing::of(&event.operation));
            }
        }
        for event in &execution.events {
            if Thing::of(&event.operation).is_some_and(|it| self.things.contains(&it)) {
                self.sites.insert(event.site);
            }
        }
    }

    fn learn(&mut self, execution: &Execution, ending: &Ending) {
        self.end(execution, ending);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}
