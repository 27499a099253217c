//! Choices: the thread that runs next, and the outcome of its operation.

use super::execution::Execution;
use super::operation::Operation;
use super::schedule::ThreadPath;
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;

/// One choice of a strategy: a thread, and the outcome of its pending operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Thread that runs.
    pub thread: ThreadId,
    /// Outcome of its operation; see [`State::outcomes`](crate::State::outcomes) and
    /// [`State::allows`](crate::State::allows).
    pub outcome: Outcome,
}

impl Choice {
    /// Creates the choice of this thread with the first outcome.
    pub fn run(thread: ThreadId) -> Self {
        Choice {
            thread,
            outcome: Outcome::FIRST,
        }
    }
}

/// One step of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Planned {
    /// Thread that runs.
    pub thread: ThreadPath,
    /// Outcome of its operation.
    pub outcome: Outcome,
}

impl Planned {
    /// Returns the steps of these events of an execution, in this order.
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

    /// Returns the same steps with each access at the coherence-last write or place.
    pub(crate) fn at_last(execution: &Execution, events: Vec<usize>) -> Vec<Planned> {
        let mut plan = Planned::of(execution, events.iter().copied());
        for (step, position) in plan.iter_mut().zip(events) {
            let event = &execution.events[position];
            match event.operation {
                Operation::Load { .. }
                | Operation::Store { .. }
                | Operation::IsFinished { .. }
                | Operation::HangUp { .. } => step.outcome = Outcome::FIRST,
                Operation::Update { .. } => step.outcome = step.outcome.at_last(),
                _ => {}
            }
        }
        plan
    }
}
