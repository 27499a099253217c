//! Only classes that can be run with few preemptions.
//!
//! A *preemption* is a switch from a thread that could have gone on, whatever the class wants it to
//! wait for: a load can always go on, a call when its object is open for it, a join when the other has
//! ended. To switch from a thread that has ended, that must wait, or whose last operation was to yield
//! or to sleep costs nothing. The cost of a class is the least number of preemptions over all orders
//! in which its events can be run; `outline.rs`, `needs.rs` and `search.rs` find it.
//!
//! The search runs all classes whose cost is within the bound and no other. It cannot just leave out
//! a graph that costs too much, because a revisit deletes events, and with them may go what made it
//! cost so much. But not all events can go:
//!
//! 1. *What a revisit has made a receive take is never deleted.* To be deleted, an event must be
//!    maximal in view of all that was inserted before it; and the receive that takes it was. For the
//!    same reason nothing that it depends on is.
//! 2. *What is not maximal in view of what was inserted before it is never deleted*, nor what it
//!    depends on. For it to become maximal, one of those others must be deleted while it is kept; then
//!    it is among what the send of that revisit depends on, and 1 holds.
//!
//! So each graph has a part that all graphs made from it have too, unchanged ([`Graph::settled`]). Its
//! cost, where a thread at the end of its part may be left for nothing, is a lower bound for theirs.
//! Take the cheapest order of such a graph and leave out all events that are not of the part. Where a
//! thread of the part is left although it could have gone on there, it is left in the whole order at
//! the same event; and it could have gone on there too, because its next event is of the part, and
//! with it everything that decides whether it must wait (the calls completed before it on its object,
//! the messages taken before it). So if that costs too much, the graph is left out.
//!
//! Where threads may see different things (see `weak.rs`), any order that puts sources first can be run,
//! so that stale reads cost nothing. But a class in which nothing is weaker than `SeqCst` costs what it
//! costs under sequential consistency, and a program that has done nothing weaker yet is taken to be one
//! that never does. Should it turn out otherwise after something was left out, the search goes on and
//! promises nothing.
//!
//! What is not settled was added as the search would always have added it, which seldom interrupts
//! anybody. So little is run in vain: only graphs that go over the bound in their last part.
//! Published bounded searches prune with a slack instead, of one less than the number of threads
//! (Marmanis, Kokologiannakis, Vafeiadis, "Reconciling Preemption Bounding with DPOR", TACAS 2023); that
//! is right for memory, but wrong here, where what is added as always may interrupt a thread at every
//! message.

mod needs;
mod outline;
mod search;

use super::graph::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::join;
use crate::model::operation::UpdateKind;
use crate::search::explore::revisit::is_never_deleted;
use outline::{Extent, Outline};

/// A part whose cost is not known after so many steps of looking is not left out.
const MAX_EFFORT: usize = 20_000;
/// A class whose cost is not known after so many counts as one within the bound. More would take more
/// memory than the search itself, and longer than the execution.
const MAX_EFFORT_OF_A_CLASS: usize = 200_000;

/// How many preemptions a class may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) preemptions: u32,
}

impl Bound {
    /// Whether nothing that is made from this graph is within the bound.
    /// Its operations can be run in this order. `weak` if threads may come to see different things.
    pub(super) fn excludes(self, graph: &Graph, order: &[EventId], weak: bool) -> bool {
        let settled = graph.fixed_prefix();
        let outline = Outline::of(graph, Extent::Part(&settled), weak);
        outline.preemptions_of(order) > self.preemptions
            && outline.costs_at_most(self.preemptions, MAX_EFFORT) == Some(false)
    }

    /// Whether the graph, which is that of a whole execution, is within the bound, as far as can be found
    /// out.
    pub(super) fn includes(self, graph: &Graph) -> bool {
        let outline = Outline::of(
            graph,
            Extent::Whole,
            graph.weak && graph.has_weak_accesses(),
        );
        outline.costs_at_most(self.preemptions, MAX_EFFORT_OF_A_CLASS) != Some(false)
    }
}

impl Graph {
    /// By thread: how many of its events are in every graph that will be made from this one.
    fn fixed_prefix(&self) -> Vec<u32> {
        let mut settled = vec![0; self.threads.len()];
        for &event in &self.order {
            if is_never_deleted(self, event) {
                join(&mut settled, self.causal(event));
            }
        }
        settled
    }

    /// The events of a whole execution in an order with as few preemptions as can be, if one is found
    /// with at most so many.
    pub(super) fn cheapest_order(&self, preemptions: u32) -> Option<Vec<EventId>> {
        let weak = self.weak && self.has_weak_accesses();
        let outline = Outline::of(self, Extent::Whole, weak);
        let threads = outline.cheapest_order(preemptions, MAX_EFFORT)?;
        let steps = (0..self.threads.len()).map(|thread| outline.events_of(ThreadId::new(thread)));
        let mut steps: Vec<_> = steps.map(Vec::into_iter).collect();
        let next = |thread: usize| steps[thread].next().expect("a step is an event");
        Some(threads.into_iter().map(next).collect())
    }

    /// Whether some access is weaker than `SeqCst`, or there is a fence.
    fn has_weak_accesses(&self) -> bool {
        let is_weak = |node: &Node| match node.kind {
            NodeKind::Fence => true,
            NodeKind::Write { .. } => !node.strength.is_seq_cst(),
            // Whether a thread has ended is no access.
            NodeKind::Read { location } => {
                !self.location(location).reserved && !node.strength.is_seq_cst()
            }
            NodeKind::ReadForUpdate { update, .. } => {
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                !node.strength.is_seq_cst() || may_fail && !node.failure.is_seq_cst()
            }
            _ => false,
        };
        let mut nodes = self.threads.iter().flat_map(|log| &log.nodes);
        nodes.any(is_weak)
    }
}
