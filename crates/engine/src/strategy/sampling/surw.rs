//! SURW, a selectively uniform random walk: every order of the uses of one location or object is
//! equally likely.
//!
//! A bug often depends on one location or object. If the order of its uses is drawn uniformly,
//! fewer events share the probability than if all events do. Every execution draws one location or
//! object used by several threads, with a probability proportional to its uses in the execution
//! before. The thread that uses it next is drawn in proportion to its remaining uses (`shares.rs`),
//! and other threads about to use it wait for that one. All other operations are scheduled by
//! random priorities, redrawn for every operation. The first execution only collects the locations
//! and objects. (Zhao, Wolff, Mathur, Roychoudhury, "Selectively Uniform Concurrency Testing",
//! ASPLOS 2025.)
//!
//! After a change of the program, only locations and objects that are used near the change are drawn,
//! if there are any.

use super::target::Thing;
use super::{Foregone, Impact, Priorities, Shares, Target};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Strategy};

/// Selectively uniform random walk.
#[derive(Clone, Debug)]
pub struct Surw {
    rng: Rng,
    foregone: Foregone,
    priorities: Priorities,
    /// Remaining uses of the target.
    shares: Shares,
    target: Target,
    /// The thread that uses the target next.
    intended: Option<ThreadId>,
    /// By thread: true while it waits for that one.
    held: Vec<bool>,
    /// The source locations near a change.
    impact: Option<Impact>,
}

impl Surw {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        Surw {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            priorities: Priorities::default(),
            shares: Shares::default(),
            target: Target::default(),
            intended: None,
            held: Vec::new(),
            impact: None,
        }
    }

    /// Draws locations and objects that are used at these source locations, if there are any.
    pub fn near(mut self, impact: Impact) -> Self {
        self.impact = Some(impact);
        self
    }

    /// Makes new threads known.
    fn meet(&mut self, state: &State) {
        self.priorities.meet(&mut self.rng, state);
        self.held.resize(state.execution().threads.len(), false);
        while let Some(birth) = self.shares.meet(state) {
            let Some((parent, part)) = birth.parent else {
                continue;
            };
            // The parent may have been drawn for a use that is the child's.
            if self.intended == Some(parent) && self.rng.unit() < part {
                self.intended = Some(birth.child);
            }
        }
    }

    fn uses_target(&mut self, state: &State, thread: ThreadId) -> bool {
        let place = self.shares.place(thread);
        self.target.is_used(thread, place, state.pending(thread))
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        loop {
            let next = match (self.intended, self.target.found()) {
                (Some(intended), Some(target)) => self.pick_beside(state, intended, target),
                _ => None,
            };
            if let Some(thread) = next.or_else(|| self.pick_highest(state)) {
                return thread;
            }
        }
    }

    /// Returns the free thread with the highest priority; `None` if it waits for another one now, or
    /// if no thread is free.
    fn pick_highest(&mut self, state: &State) -> Option<ThreadId> {
        let is_free = |thread: ThreadId| !self.held[thread.index()];
        let Some(thread) = self.priorities.highest(state, is_free) else {
            self.draw_anew();
            return None;
        };
        if !self.uses_target(state, thread) {
            return Some(thread);
        }
        let intended = match self.intended {
            Some(intended) => intended,
            None => self.draw(state, thread),
        };
        self.intended = Some(intended);
        if intended == thread {
            self.draw_anew();
            return Some(thread);
        }
        self.held[thread.index()] = true;
        None
    }

    /// Returns the free thread with the highest priority that does not wait for `intended`, and holds
    /// those of higher priority, which do. One look at each thread: one by one, `n` threads that wait
    /// would cost `n` looks at all of them.
    fn pick_beside(
        &mut self,
        state: &State,
        intended: ThreadId,
        target: Thing,
    ) -> Option<ThreadId> {
        let waits =
            |thread: ThreadId| thread != intended && target.is_used_by(state.pending(thread));
        let may_go_on = |thread: ThreadId| !self.held[thread.index()] && !waits(thread);
        let thread = self.priorities.highest(state, may_go_on)?;
        for &other in state.enabled() {
            if self.priorities.is_above(other, thread) && waits(other) {
                self.held[other.index()] = true;
            }
        }
        if target.is_used_by(state.pending(thread)) {
            self.draw_anew();
        }
        Some(thread)
    }

    fn draw_anew(&mut self) {
        self.intended = None;
        self.held.fill(false);
    }

    /// Draws the thread that uses the target next; `user` is about to.
    fn draw(&mut self, state: &State, user: ThreadId) -> ThreadId {
        let left = |&thread: &ThreadId| {
            let at_least = f64::from(u8::from(thread == user));
            self.shares.left(thread).max(at_least)
        };
        let weights = state.enabled().iter().map(left);
        let drawn = sampling::weighted(&mut self.rng, weights);
        state.enabled()[drawn.expect("`user` has a positive weight")]
    }

    #[inline]
    fn choose_by(
        &mut self,
        state: &State,
        pick: impl FnOnce(&mut Self, &State) -> ThreadId,
    ) -> Choice {
        self.meet(state);
        let thread = match self.foregone.next(state) {
            Some(thread) => thread,
            None => {
                let thread = pick(self, state);
                if self.priorities.performs(&mut self.rng, state, thread) {
                    self.draw_anew();
                }
                thread
            }
        };
        let operation = state.pending(thread);
        let counts = self.uses_target(state, thread);
        self.target.performs(thread, operation);
        self.shares.performs(thread, operation, counts);
        sampling::run(&mut self.rng, state, thread)
    }
}

impl Strategy for Surw {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.priorities.begin();
        self.shares.begin();
        self.target.begin();
        self.intended = None;
        self.held.clear();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        Ok(self.choose_by(state, Surw::pick))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        if !sampling::is_whole(ending) {
            return;
        }
        self.shares.meet_all(execution);
        let place = |thread| self.shares.place(thread);
        let thing = match &mut self.impact {
            None => self.target.pick(&mut self.rng, execution, place, |_| true),
            Some(impact) => {
                let is_near = |event: &Event| impact.contains(event.site);
                let near = self.target.pick(&mut self.rng, execution, place, is_near);
                near.or_else(|| self.target.pick(&mut self.rng, execution, place, |_| true))
            }
        };
        self.shares.forget();
        self.shares.learn(execution, |event: &Event| {
            thing.is_some_and(|thing| thing.is_used_by(&event.operation))
        });
    }

    fn learn(&mut self, execution: &Execution, ending: &Ending) {
        self.begin();
        self.end(execution, ending);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}

#[cfg(test)]
mod tests;
