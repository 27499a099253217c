//! What is the same in all executions that are left in a part of the search.

use super::revisit::is_final;
use crate::base::ids::{EventId, ThreadId};
use crate::search::Exhaustive;
use crate::search::graph::{Graph, NodeKind};

impl Exhaustive {
    /// Whether an event of the running execution, with the source it has, is part of every execution
    /// that the search will make from the present graph: it is final, or something final depends on it.
    /// To revisit it would delete that.
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

/// Whether the event has a source, or turns out in one of several ways.
fn is_receive(graph: &Graph, event: EventId) -> bool {
    matches!(
        graph.node(event).kind,
        NodeKind::Read { .. }
            | NodeKind::ReadForUpdate { .. }
            | NodeKind::Completion { .. }
            | NodeKind::Choose { .. }
    )
}

/// How many operations the first events of a thread are. A call and an update are two events, of which
/// the second of a call counts, and the first of an update.
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
