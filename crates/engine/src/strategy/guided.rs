//! Follows a plan as far as the program permits, once.
//!
//! Unlike a schedule, a plan need not fit. Steps of threads that cannot run are skipped, and after
//! the end of the plan the last thread continues. Minimisation uses this to test whether a program
//! fails in the same way under a slightly different schedule.

use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::model::choice::{Choice, Planned};
use crate::model::ending::Divergence;
use crate::world::State;
use crate::world::strategy::Strategy;

/// One execution along a plan.
#[derive(Debug)]
pub struct Guided {
    plan: Vec<Planned>,
    position: usize,
    last: ThreadId,
    started: bool,
}

impl Guided {
    /// Creates a strategy that follows this plan.
    pub fn new(plan: Vec<Planned>) -> Self {
        Guided {
            plan,
            position: 0,
            last: ThreadId::MAIN,
            started: false,
        }
    }
}

impl Strategy for Guided {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.started, true)
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        while let Some(step) = self.plan.get(self.position) {
            self.position += 1;
            let thread = state.execution().thread_at(&step.thread);
            if let Some(thread) = thread.filter(|&thread| state.is_enabled(thread)) {
                self.last = thread;
                let possible = state.may_replay(thread, step.outcome);
                return Ok(Choice {
                    outcome: if possible {
                        step.outcome
                    } else {
                        Outcome::FIRST
                    },
                    ..Choice::run(thread)
                });
            }
        }
        if !state.is_enabled(self.last) {
            let first = state.enabled().iter().min();
            self.last = *first.expect("some thread is enabled");
        }
        Ok(Choice::run(self.last))
    }
}
