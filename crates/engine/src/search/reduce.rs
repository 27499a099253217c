//! Reductions that may lose classes, for those who know that they do not lose what matters.
//!
//! Both come from reachability testing (Lei and Carver), where they take sends out of race sets;
//! here they leave out branches and revisits.

use super::graph::{Graph, NodeKind};
use crate::base::ids::EventId;
use crate::memory::clock::covers;
use crate::object::{Call, Object, semaphore};
use crate::search::explore::revisit::completed_before;

/// Which classes not to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reductions {
    /// Threads that were created at the same place are interchangeable: of several that ask the same
    /// of an object, only one is served first.
    pub symmetry: bool,
    /// To give a permit back to a counting semaphore comes before whatever else is asked of it at
    /// the same time.
    pub releases: bool,
}

impl Graph {
    /// In which order calls on one object are completed: the first of them is.
    pub(super) fn rank(&self, call: EventId) -> (bool, u32) {
        (!self.is_early_release(call), self.node(call).stamp)
    }

    /// Whether nothing else is tried in place of this call.
    pub(super) fn is_early_release(&self, call: EventId) -> bool {
        let NodeKind::Call {
            object,
            call: Call::Semaphore(semaphore::Call::Release),
        } = self.node(call).kind
        else {
            return false;
        };
        let is_counting =
            matches!(self.object(object).state(), Object::Semaphore(one) if one.is_counting());
        self.reductions.releases && is_counting
    }

    /// Whether it makes no difference which of the two calls is completed first.
    pub(super) fn are_interchangeable(&self, one: EventId, other: EventId) -> bool {
        let asks = |id: EventId| match self.node(id).kind {
            NodeKind::Call { object, call } => Some((object, call)),
            _ => None,
        };
        let place = |id: EventId| self.threads[id.thread.index()].place;
        self.reductions.symmetry
            && place(one).is_some()
            && place(one) == place(other)
            && asks(one) == asks(other)
    }

    /// Whether a newer call is not tried in place of the one that `completion` completes.
    pub(super) fn is_reduced_away(&self, completion: EventId, newer: EventId) -> bool {
        if self.reductions == Reductions::default() {
            return false;
        }
        let call = EventId {
            index: completion.index - 1,
            ..completion
        };
        let NodeKind::Call { object, call: asks } = self.node(newer).kind else {
            return false;
        };
        let position = self.node(completion).value;
        let state = &self.object(object).states[position as usize];
        self.is_early_release(call)
            || self.object(object).calls.iter().any(|&other| {
                other != newer
                    && self.are_interchangeable(other, newer)
                    && !completed_before(self, other, position)
                    && !covers(self.causal(other), completion)
                    && state.open(asks, other.thread)
            })
    }
}
