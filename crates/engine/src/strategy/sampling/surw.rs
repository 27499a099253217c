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

use super::{Foregone, Priorities, Shares, Target};
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
        }
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
            let is_free = |thread: ThreadId| !self.held[thread.index()];
            let Some(thread) = self.priorities.highest(state, is_free) else {
                self.draw_anew();
                continue;
            };
            if !self.uses_target(state, thread) {
                return thread;
            }
            let intended = match self.intended {
                Some(intended) => intended,
                None => self.draw(state, thread),
            };
            self.intended = Some(intended);
            if intended == thread {
                self.draw_anew();
                return thread;
            }
            self.held[thread.index()] = true;
        }
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
}

impl Strategy for Surw {
    fn begin(&mut self) -> bool {
        self.priorities.begin();
        self.shares.begin();
        self.target.begin();
        self.intended = None;
        self.held.clear();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.meet(state);
        let thread = match self.foregone.next(state) {
            Some(thread) => thread,
            None => {
                let thread = self.pick(state);
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
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        if !sampling::is_whole(ending) {
            return;
        }
        self.shares.meet_all(execution);
        let place = |thread| self.shares.place(thread);
        let thing = self.target.pick(&mut self.rng, execution, place);
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
