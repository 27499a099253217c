//! Relation of pending operations to the choices of an alternative.

use crate::analysis::alternatives::AlternativeSource;
use crate::analysis::alternatives::follow::{Follower, Role, Verdict, fits};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::world::State;

impl Follower {
    /// Returns the choices whose receive is the thread's pending operation.
    pub(super) fn receives_next(&self, state: &State, thread: ThreadId) -> Vec<usize> {
        let operation = state.pending(thread);
        let is_next = |&index: &usize| {
            let one = &self.choices[index];
            let point = &one.choice.receive;
            one.verdict == Verdict::Open
                && one.receives == point.occurrence
                && fits(point, thread, operation, Role::Receives, state.execution())
        };
        (0..self.choices.len()).filter(is_next).collect()
    }

    /// Returns the choice whose source may be the thread's pending operation.
    pub(super) fn sends_next(&self, state: &State, thread: ThreadId) -> Option<usize> {
        let operation = state.pending(thread);
        self.choices.iter().position(|one| match &one.choice.sees {
            Some(AlternativeSource::Event(point)) => {
                one.source.is_none()
                    && one.verdict == Verdict::Open
                    && one.sends == point.occurrence
                    && fits(point, thread, operation, Role::Sends, state.execution())
            }
            _ => false,
        })
    }

    /// Returns the outcome with which the thread's pending operation satisfies these choices.
    pub(super) fn outcome(
        &self,
        state: &State,
        thread: ThreadId,
        all: &[usize],
    ) -> Option<Outcome> {
        let operation = state.pending(thread);
        let right = |&outcome: &Outcome| {
            let way = operation.resolution(outcome).number();
            let source = state.would_see(thread, outcome);
            state.allows(thread, outcome)
                && all.iter().all(|&index| {
                    let wanted = self.choices[index].choice.outcome;
                    wanted.is_none_or(|wanted| wanted == way)
                        && self.sees(index, operation, source, state.execution())
                })
        };
        state.each_outcome(thread).find(right)
    }
}
