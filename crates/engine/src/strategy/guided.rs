//! Follows a plan as far as the program lets it, once.
//!
//! Unlike a schedule, a plan need not fit: where its thread cannot go on, the next in the plan does,
//! and behind its end whoever ran last goes on. That is what it takes to try whether a program fails
//! in the same way when it is run a little differently.

use super::{Choice, Divergence, Strategy};
use crate::event::{Operation, ThreadId};
use crate::execution::Execution;
use crate::schedule::ThreadPath;
use crate::world::State;

/// One step of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Planned {
    /// Who goes on.
    pub thread: ThreadPath,
    /// With which outcome.
    pub outcome: u32,
}

impl Planned {
    /// What was done in these events of an execution, in this order.
    pub fn of(execution: &Execution, events: impl IntoIterator<Item = usize>) -> Vec<Planned> {
        let planned = |position: usize| {
            let event = &execution.events[position];
            Planned {
                thread: execution.path(event.id.thread),
                outcome: event.outcome,
            }
        };
        events.into_iter().map(planned).collect()
    }

    /// The same, but that every access takes the latest value, or the last place.
    pub(crate) fn at_last(execution: &Execution, events: Vec<usize>) -> Vec<Planned> {
        let mut plan = Planned::of(execution, events.iter().copied());
        for (step, position) in plan.iter_mut().zip(events) {
            let event = &execution.events[position];
            match event.operation {
                Operation::Load { .. }
                | Operation::Store { .. }
                | Operation::IsFinished { .. }
                | Operation::HangUp { .. } => step.outcome = 0,
                Operation::Update { .. } => step.outcome &= 1,
                _ => {}
            }
        }
        plan
    }
}

/// One execution along a plan.
#[derive(Debug)]
pub struct Guided {
    plan: Vec<Planned>,
    position: usize,
    last: ThreadId,
    started: bool,
}

impl Guided {
    /// Will follow this plan.
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
                let possible =
                    step.outcome < state.outcomes(thread) && state.allows(thread, step.outcome);
                return Ok(Choice {
                    outcome: if possible { step.outcome } else { 0 },
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
