//! Which receives a new send may revisit.
//!
//! A receive that was given its source before the send existed must get the chance to take it.
//! Revisiting deletes what was inserted after the receive and does not lead to the send. To reach
//! every graph from exactly one parent, this is done only when everything deleted, and the old
//! source of the receive itself, is what the search would have chosen first (is *maximal*) in view
//! of what is kept: then no other graph leads to the same result. The idea is TruSt's
//! (Kokologiannakis et al., POPL 2022), extended to completions of calls.

use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::memory::clock::covers;
use crate::search::graph::{Graph, NodeKind};

/// The receives that `send` may revisit, newest first. Called when the send has its clocks and is
/// the last event, but has no place in coherence order yet.
pub(crate) fn revisits(graph: &mut Graph, send: EventId, mut found: impl FnMut(EventId)) {
    let kind = graph.node(send).kind;
    let known_reads = kind
        .writes()
        .map(|location| graph.known_reads(location, send));
    let graph = &*graph;
    let prefix = graph.causal(send);
    let candidates = match kind {
        NodeKind::Call { object, .. } => {
            // Completions of one object depend on each other, so those it knows come first.
            let completions = &graph.object(object).completions;
            &completions[completions.partition_point(|&completion| covers(prefix, completion))..]
        }
        NodeKind::Send { port } => {
            // So do receives from one port.
            let receives = &graph.port(port).receives;
            &receives[receives.partition_point(|&receive| covers(prefix, receive))..]
        }
        kind => {
            let location = kind.writes().expect("a send is a call or a write");
            &graph.location(location).reads[known_reads.unwrap_or(0)..]
        }
    };
    let may_take = |&&receive: &&EventId| !covers(prefix, receive) && matches(graph, receive, send);
    let Some(&oldest) = candidates.iter().find(may_take) else {
        return;
    };
    let (oldest, newest) = (
        graph.node(oldest).stamp as usize,
        graph.node(send).stamp as usize,
    );
    let mut stamp = newest;
    while stamp > oldest {
        stamp -= 1;
        let event = graph.order[stamp];
        if covers(prefix, event) {
            // So is everything before it in its thread.
            stamp = graph.node(event).run as usize;
            continue;
        }
        if !is_maximal(graph, event, send, prefix) {
            return;
        }
        if matches(graph, event, send) {
            found(event);
        }
    }
}

/// Whether the event is a receive that could take the send.
fn matches(graph: &Graph, event: EventId, send: EventId) -> bool {
    let node = graph.node(event);
    match graph.node(send).kind {
        NodeKind::Call { object, call } => match node.kind {
            NodeKind::Completion { object: of } => {
                of == object
                    && !graph.is_reduced_away(event, send)
                    && graph.object(object).states[node.value as usize].open(call, send.thread)
            }
            _ => false,
        },
        NodeKind::Send { .. } => graph.may_take(event, send),
        kind => node.kind.reads().is_some() && node.kind.reads() == kind.writes(),
    }
}

/// Whether everything that a revisit of `receive` deletes, and the receive itself, is what the search
/// would have chosen first.
pub(crate) fn all_maximal(graph: &Graph, receive: EventId, send: EventId, prefix: &[u32]) -> bool {
    let after = graph.node(receive).stamp as usize..graph.node(send).stamp as usize;
    let mut deleted = graph.order[after]
        .iter()
        .filter(|&&event| !covers(prefix, event));
    deleted.all(|&event| is_maximal(graph, event, send, prefix))
}

/// Whether the event is not what the search would have chosen first in view of what was inserted before
/// it. Nothing ever deletes it then; see `bound.rs`.
pub(crate) fn is_never_deleted(graph: &Graph, event: EventId) -> bool {
    // No send, and nothing that leads to it.
    let nothing = vec![0; graph.threads.len()];
    let nobody = EventId {
        thread: ThreadId::new(graph.threads.len()),
        index: 0,
    };
    !is_maximal(graph, event, nobody, &nothing)
}

/// Whether the event has its source for good: no revisit will delete it or give it another one. Either
/// would need it to be what the search would have chosen first in view of what was inserted before it,
/// of its source and of what that depends on; and more is kept at most.
pub(crate) fn is_final(graph: &Graph, event: EventId) -> bool {
    let node = graph.node(event);
    let source = match node.kind {
        NodeKind::Completion { .. } => Some(EventId {
            index: event.index - 1,
            ..event
        }),
        _ => node.source,
    };
    let late = source.filter(|&source| graph.node(source).stamp > node.stamp);
    let prefix = match late {
        Some(source) => graph.causal(source).to_vec(),
        None => vec![0; graph.threads.len()],
    };
    let nobody = EventId {
        thread: ThreadId::new(graph.threads.len()),
        index: 0,
    };
    !is_maximal(graph, event, nobody, &prefix)
}

/// Whether the search would have added the event the same way, seen from what is kept: what was
/// inserted no later than it, and what the send depends on, which `prefix` covers.
fn is_maximal(graph: &Graph, event: EventId, send: EventId, prefix: &[u32]) -> bool {
    let node = graph.node(event);
    let kept = |other: EventId| {
        other != send && (graph.node(other).stamp <= node.stamp || covers(prefix, other))
    };
    let last_in_coherence = |location: LocationId, write: Option<EventId>| {
        let place = graph.coherence(location, write);
        !graph.location(location).writes[place..]
            .iter()
            .any(|&later| kept(later))
    };
    match node.kind {
        NodeKind::Begin
        | NodeKind::Spawn { .. }
        | NodeKind::Join { .. }
        | NodeKind::Delivered { .. }
        | NodeKind::Silent { .. }
        | NodeKind::Fence
        | NodeKind::Local => true,
        NodeKind::Arrive { .. } => !node.source.is_some_and(kept),
        NodeKind::Pass { barrier } => {
            node.source.is_some() || graph.is_maximal_group(barrier, event, kept)
        }
        NodeKind::AskLeader { barrier } => {
            graph.first_leader_answer(barrier, event, kept).0 == node.outcome
        }
        NodeKind::Send { port } => graph.is_maximal_send(event, port, kept),
        NodeKind::Receive { ports, wait } => graph.is_maximal_receive(event, ports, wait, kept),
        NodeKind::Choose { .. } => node.outcome == 0,
        NodeKind::Read { location } | NodeKind::ReadForUpdate { location, .. } => {
            node.outcome == 0
                && node.source.is_none_or(kept)
                && last_in_coherence(location, node.source)
        }
        NodeKind::Write { location }
        | NodeKind::WriteOfUpdate { location }
        | NodeKind::HangUp { location, .. }
        | NodeKind::End { location } => {
            let is_read = |&read: &EventId| graph.node(read).source == Some(event) && kept(read);
            !graph.location(location).reads.iter().any(is_read)
                && last_in_coherence(location, Some(event))
        }
        NodeKind::Call { .. } => {
            let completion = EventId {
                index: event.index + 1,
                ..event
            };
            let completed =
                graph.threads[event.thread.index()].nodes.len() > completion.index as usize;
            !(completed && kept(completion))
        }
        NodeKind::Completion { object } => {
            let call = EventId {
                index: event.index - 1,
                ..event
            };
            node.outcome == 0
                && kept(call)
                && (node.oldest || !older_call_waits(graph, object, event, kept))
        }
    }
}

/// Whether some kept call, inserted before the one that `completion` completes, could have been
/// completed in its place.
fn older_call_waits(
    graph: &Graph,
    object: ObjectId,
    completion: EventId,
    kept: impl Fn(EventId) -> bool,
) -> bool {
    let log = graph.object(object);
    let position = graph.node(completion).value;
    let state = &log.states[position as usize];
    let call = EventId {
        index: completion.index - 1,
        ..completion
    };
    let rank = graph.rank(call);
    // Without that reduction, in insertion order.
    let may_rank_before =
        |other: &&EventId| graph.reductions.releases || graph.rank(**other) < rank;
    log.calls.iter().take_while(may_rank_before).any(|&other| {
        let NodeKind::Call { call, .. } = graph.node(other).kind else {
            return false;
        };
        graph.rank(other) < rank
            && !completed_before(graph, other, position)
            && kept(other)
            && state.open(call, other.thread)
    })
}

/// Whether the call is completed before this position of its object's completions.
pub(crate) fn completed_before(graph: &Graph, call: EventId, position: u64) -> bool {
    let nodes = &graph.threads[call.thread.index()].nodes;
    nodes
        .get(call.index as usize + 1)
        .is_some_and(|completion| completion.value < position)
}
