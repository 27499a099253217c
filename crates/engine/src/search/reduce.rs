//! Reductions that may lose classes; the user asserts that the lost ones do not matter.
//!
//! Two come from reachability testing (Lei and Carver), where they remove sends from race sets.
//! Here they leave out branches and revisits. The third follows Setiadi: values that can change no
//! path need no choice. Accesses of ignored locations are [`NodeKind::LeftOut`], which has neither a
//! source nor a place in coherence order. Every consistent graph without such accesses has a
//! consistent one with them, in which each takes the latest write: if all are relaxed and the
//! program has no fences, they add nothing to happens-before, so the order of the run explains them.

use super::graph::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::memory::clock::covers;
use crate::model::operation::Operation;
use crate::object::{Call, Object, semaphore};
use crate::search::explore::revisit::completed_before;
use crate::world::State;

/// The classes that are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reductions {
    /// Threads created at the same source location are interchangeable: of several whose first
    /// operation is the same call on an object, only one is completed first.
    pub symmetry: bool,
    /// A release of a counting semaphore precedes every other concurrent call on it.
    pub releases: bool,
    /// Accesses of [ignored locations](crate::World::ignore_location) choose neither a source nor a
    /// place in coherence order. They are relaxed, none of them is a compare-exchange, and the program
    /// has no fence beside them. Neither do [single reads](crate::World::ignore_next_read) of other locations under
    /// sequential consistency.
    pub paths: bool,
}

impl Reductions {
    /// True when the pending operation of a thread accesses an ignored location, or is a read whose value decides
    /// nothing. It takes the latest write without a choice.
    #[inline]
    pub(super) fn leaves_out(&self, state: &State, thread: ThreadId) -> bool {
        use Operation::{Load, Store, Update};
        let is_ignored =
            |location: LocationId| state.execution().locations[location.index()].is_ignored;
        self.paths
            && match *state.pending(thread) {
                Load { location, .. } => is_ignored(location) || state.is_ignored_read(thread),
                Store { location, .. } | Update { location, .. } => is_ignored(location),
                _ => false,
            }
    }
}

impl Graph {
    /// Returns the sort key of the calls on one object; the least is completed first.
    pub(super) fn rank(&self, call: EventId) -> (bool, u32) {
        (!self.is_early_release(call), self.node(call).stamp)
    }

    /// True when no other call is tried in place of this release.
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

    /// True when the two calls are symmetric, so that only one order of them is run: exchanging
    /// their threads is an automorphism of the graph.
    ///
    /// Each is the first operation of its thread, and the threads were created one after the other.
    /// After its first call a thread is distinguished by its place among the others. So of `n` such
    /// threads one of `n!` orders is run, for all later behaviours.
    pub(super) fn are_interchangeable(&self, one: EventId, other: EventId) -> bool {
        if !self.reductions.symmetry {
            return false;
        }
        let log = |id: EventId| &self.threads[id.thread.index()];
        let asks = |id: EventId| match self.node(id).kind {
            NodeKind::Call { object, call } => Some((object, call)),
            _ => None,
        };
        let is_first = |id: EventId| {
            let mut earlier = log(id).nodes[..id.index as usize].iter();
            earlier.all(|node| {
                use NodeKind::{Begin, LeftOut, Local};
                matches!(node.kind, Begin | Local | LeftOut)
            })
        };
        log(one).place.is_some()
            && log(one).place == log(other).place
            && asks(one) == asks(other)
            && is_first(one)
            && is_first(other)
            && self.are_created_together(log(one).spawned_by, log(other).spawned_by)
    }

    /// True when one thread has created the two without any effect in between.
    fn are_created_together(&self, one: Option<EventId>, other: Option<EventId>) -> bool {
        let (Some(one), Some(other)) = (one, other) else {
            return false;
        };
        let between = one.index.min(other.index) as usize..one.index.max(other.index) as usize;
        let has_no_effect = |node: &Node| {
            use NodeKind::{LeftOut, Local, Spawn};
            matches!(node.kind, Spawn { .. } | Local | LeftOut)
        };
        one.thread == other.thread
            && self.threads[one.thread.index()].nodes[between]
                .iter()
                .all(has_no_effect)
    }

    /// True when the reductions forbid that `newer` takes the place of the call completed by
    /// `completion`.
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
