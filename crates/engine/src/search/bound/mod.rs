//! Preemption bounding: only classes that can be run with few preemptions.
//!
//! A *preemption* is a switch from a thread that could have continued, even if the class requires
//! it to wait: a load can always continue, a call when its object is open for it, a join when its
//! target has ended. A switch from a thread that has ended, that must wait, or whose last operation
//! was a yield or a sleep costs nothing. The cost of a class is the least number of preemptions
//! over all its linearizations; `outline.rs`, `needs.rs` and `search.rs` compute it.
//!
//! The search runs exactly the classes whose cost is within the bound. It cannot simply leave out a
//! graph that costs too much: a revisit deletes events, and may delete those that cause the cost.
//! But some events are never deleted:
//!
//! 1. *The source that a revisit gave a receive is never deleted*, nor its causal prefix. A deleted
//!    event must be maximal given the events inserted before it; the receive that takes the source
//!    was inserted before it.
//! 2. *An event that is not maximal given the events inserted before it is never deleted*, nor its
//!    causal prefix. To become maximal, one of those earlier events must be deleted while it is
//!    kept. Then it is in the causal prefix of the send of that revisit, and 1 holds.
//!
//! So each graph has a part that all its descendants share unchanged ([`Graph::fixed_prefix`]). The
//! cost of that part, where switching from a thread at the end of its part is free, is a lower
//! bound of theirs. To see this, take the cheapest linearization of a descendant and drop all
//! events outside the part. Where a thread of the part is preempted there, it is preempted in the
//! whole linearization at the same event. It could have continued there too: its next event is in
//! the part, and with it all events that decide whether it must wait (the calls completed before it
//! on its object, the messages taken before it). So if the part costs too much, the graph is left
//! out.
//!
//! In a weak graph (see `weak.rs`) any order that puts sources first is a linearization, so stale
//! reads cost nothing. But a class without any access weaker than SeqCst has its cost under
//! sequential consistency, if it is sequentially consistent. A program is assumed to have only such
//! classes until it performs an operation by which it may have others ([`Weakness`]). If that comes
//! after a graph was left out, the search continues and claims nothing.
//!
//! [`Weakness`]: crate::memory::Weakness
//!
//! Events outside the fixed prefix are first choices of the search, which seldom preempt. So few
//! executions are wasted: only graphs that exceed the bound in their last part. Published bounded
//! searches prune with a slack of one less than the number of threads instead (Marmanis,
//! Kokologiannakis, Vafeiadis, "Reconciling Preemption Bounding with DPOR", TACAS 2023). That is
//! right for memory accesses, but not here, where first choices may preempt a thread at every
//! message.

mod needs;
mod outline;
mod search;

use super::graph::Graph;
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::join;
use crate::search::explore::revisit::is_never_deleted;
use outline::{Extent, Outline};

/// Maximum search steps for the cost of a part; beyond them it counts as unknown, and the graph is
/// not left out.
const MAX_EFFORT: usize = 20_000;
/// Maximum search steps for the cost of a class; beyond them the class counts as within the bound.
/// More would take more memory than the search itself, and longer than the execution.
const MAX_EFFORT_OF_A_CLASS: usize = 200_000;

/// Maximum number of preemptions of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) preemptions: u32,
}

impl Bound {
    /// True when no descendant of the graph is within the bound. `order` is a linearization of the
    /// graph; `weak` is true when weak accesses may occur.
    pub(super) fn excludes(self, graph: &Graph, order: &[EventId], weak: bool) -> bool {
        let settled = graph.fixed_prefix();
        let outline = Outline::of(graph, Extent::Part(&settled), weak);
        outline.preemptions_of(order) > self.preemptions
            && outline.costs_at_most(self.preemptions, MAX_EFFORT) == Some(false)
    }

    /// True when the class of a complete execution is within the bound, or its cost is unknown.
    pub(super) fn includes(self, graph: &Graph) -> bool {
        let outline = Outline::of_class(graph);
        outline.costs_at_most(self.preemptions, MAX_EFFORT_OF_A_CLASS) != Some(false)
    }
}

impl Graph {
    /// Returns for each thread the number of its events that all descendants of the graph share.
    fn fixed_prefix(&self) -> Vec<u32> {
        let mut settled = vec![0; self.threads.len()];
        for &event in &self.order {
            if is_never_deleted(self, event) {
                join(&mut settled, self.causal(event));
            }
        }
        settled
    }

    /// Returns a linearization of a complete execution with the fewest preemptions, if one is found
    /// with at most `preemptions`.
    pub(super) fn cheapest_order(&self, preemptions: u32) -> Option<Vec<EventId>> {
        let outline = Outline::of_class(self);
        let threads = outline.cheapest_order(preemptions, MAX_EFFORT)?;
        let steps = (0..self.threads.len()).map(|thread| outline.events_of(ThreadId::new(thread)));
        let mut steps: Vec<_> = steps.map(Vec::into_iter).collect();
        let next = |thread: usize| steps[thread].next().expect("a step is an event");
        Some(threads.into_iter().map(next).collect())
    }
}
