//! Follows a plan as far as the program permits, once.
//!
//! Unlike a schedule, a plan need not fit. Steps of threads that cannot run are skipped, and after
//! the end of the plan the last thread continues, unless it polls for another. Minimisation uses this to test whether a program
//! fails in the same way under a slightly different schedule.

use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::model::choice::{Choice, Planned};
use crate::model::ending::Divergence;
use crate::world::State;
use crate::world::strategy::Strategy;

/// Number of waits, sleeps and yields after the plan with which a thread keeps its turn. More of them
/// are a loop that polls, which only another thread can end.
const PATIENCE: u32 = 4;

/// The steps of a plan that the program permits.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanSteps {
    plan: Vec<Planned>,
    position: usize,
}

impl PlanSteps {
    pub(super) fn new(plan: Vec<Planned>) -> Self {
        PlanSteps { plan, position: 0 }
    }

    /// Returns the thread of the next step that can be performed, and its outcome if that is possible;
    /// `None` at the end of the plan.
    pub(super) fn next(&mut self, state: &State) -> Option<(ThreadId, Option<Outcome>)> {
        while let Some(step) = self.plan.get(self.position) {
            self.position += 1;
            let thread = state.execution().thread_at(&step.thread);
            if let Some(thread) = thread.filter(|&thread| state.is_enabled(thread)) {
                let is_possible = state.may_replay(thread, step.outcome);
                return Some((thread, is_possible.then_some(step.outcome)));
            }
        }
        None
    }
}

/// One execution along a plan.
#[derive(Debug)]
pub struct Guided {
    plan: PlanSteps,
    last: ThreadId,
    /// Number of waits of the last thread since its turn after the plan began.
    waits: u32,
    started: bool,
}

impl Guided {
    /// Creates a strategy that follows this plan.
    pub fn new(plan: Vec<Planned>) -> Self {
        Guided {
            plan: PlanSteps::new(plan),
            last: ThreadId::MAIN,
            waits: 0,
            started: false,
        }
    }
}

impl Strategy for Guided {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.started, true)
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        if let Some((thread, outcome)) = self.plan.next(state) {
            self.last = thread;
            return Ok(Choice {
                thread,
                outcome: outcome.unwrap_or(Outcome::FIRST),
            });
        }
        self.waits += u32::from(state.has_just_waited(self.last));
        if !state.is_enabled(self.last) {
            let first = state.enabled().iter().min();
            self.last = *first.expect("some thread is enabled");
            self.waits = 0;
        } else if self.waits > PATIENCE {
            self.last = next(state, self.last);
            self.waits = 0;
        }
        Ok(Choice::run(self.last))
    }
}

/// Returns the enabled thread after this one, in the order of creation and then from the first on.
fn next(state: &State, last: ThreadId) -> ThreadId {
    let others = || state.enabled().iter().copied();
    let later = others().filter(|&thread| thread > last).min();
    later.or(others().min()).unwrap_or(last)
}
