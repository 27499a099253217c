//! Choices: which thread goes on, and how its operation turns out.

use super::execution::Execution;
use super::operation::Operation;
use super::schedule::ThreadPath;
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;

/// What happens next: a thread, and how its pending operation turns out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The thread that goes on.
    pub thread: ThreadId,
    /// Which outcome its operation has; see [`State::outcomes`](crate::State::outcomes) and
    /// [`State::allows`](crate::State::allows).
    pub outcome: Outcome,
}

impl Choice {
    /// This thread goes on with the first outcome.
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
    /// Who goes on.
    pub thread: ThreadPath,
    /// With which outcome.
    pub outcome: Outcome,
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
                | Operation::HangUp { .. } => step.outcome = Outcome::FIRST,
                Operation::Update { .. } => step.outcome = step.outcome.at_last(),
                _ => {}
            }
        }
        plan
    }
}
