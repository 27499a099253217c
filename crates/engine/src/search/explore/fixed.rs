//! Events that are the same in all remaining executions of a part of the search.

use super::revisit::is_final;
use crate::base::ids::{EventId, ThreadId};
use crate::search::Exhaustive;
use crate::search::graph::{Graph, NodeKind};

impl Exhaustive {
    /// True when the event, with its source, is part of every execution that descends from the
    /// current graph: it is final, or a final event depends on it. A revisit of it would delete
    /// that event.
    pub(crate) fn is_fixed(&self, event: EventId) -> bool {
        let Some(frame) = self.frames.last() else {
            return false;
        };
        let thread = self.binding.to_graph(event.thread);
        let graph = &frame.graph;
        let final_events = graph.order.iter().filter(|&&one| is_receive(graph, one));
        let clocks = final_events
            .filter(|&&one| is_final(graph, one))
            .map(|&one| graph.causal(one)[thread.index()]);
        operations(graph, thread, clocks.max().unwrap_or(0)) > event.index
    }
}

/// True when the event has a source or several outcomes.
pub(super) fn is_receive(graph: &Graph, event: EventId) -> bool {
    matches!(
        graph.node(event).kind,
        NodeKind::Read { .. }
            | NodeKind::ReadForUpdate { .. }
            | NodeKind::Completion { .. }
            | NodeKind::Choose { .. }
    )
}

/// Returns the number of operations in the first `events` events of a thread. Of the two events of
/// a call the second counts, of those of an update the first.
fn operations(graph: &Graph, thread: ThreadId, events: u32) -> u32 {
    let nodes = graph.threads[thread.index()].nodes.iter();
    let is_half = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::Call { .. } | NodeKind::Arrive { .. } | NodeKind::WriteOfUpdate { .. }
        )
    };
    let whole = nodes
        .take(events as usize)
        .filter(|node| !is_half(&node.kind));
    whole.count() as u32
}
