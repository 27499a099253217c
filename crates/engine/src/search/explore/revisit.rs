//! Revisits: the earlier receives whose source a new send may become.
//!
//! A receive whose source was chosen before the send existed must also be tried with the send. A
//! revisit deletes the events inserted after the receive that are not in the causal prefix of the
//! send. It is done only if every deleted event, and the old source of the receive, is *maximal*:
//! the search's first choice, given the kept events. Then no other graph leads to the same result,
//! and every graph has exactly one parent. The algorithm is TruSt (Kokologiannakis et al., POPL
//! 2022), extended to completions of calls.

use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::memory::clock::covers;
use crate::search::graph::{Graph, NodeKind};

/// Reports the receives that `send` may revisit, newest first. The send must be the last event and
/// have its clocks, but no position in coherence order.
pub(crate) fn revisits(graph: &mut Graph, send: EventId, mut found: impl FnMut(EventId)) {
    let kind = graph.node(send).kind;
    let known_reads = kind
        .writes()
        .map(|location| graph.known_reads(location, send));
    let graph = &*graph;
    let prefix = graph.causal(send);
    let candidates = match kind {
        NodeKind::Call { object, .. } => {
            // Completions of one object are causally ordered, so those in the prefix come first.
            let completions = &graph.object(object).completions;
            &completions[completions.partition_point(|&completion| covers(prefix, completion))..]
        }
        NodeKind::Send { port } => {
            // Receives from one port are causally ordered as well.
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
            // Earlier events of its thread are covered as well.
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

/// True when the event is a receive that could take the send.
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

/// True when the receive, and every event that a revisit of it deletes, is maximal.
pub(crate) fn all_maximal(graph: &Graph, receive: EventId, send: EventId, prefix: &[u32]) -> bool {
    let after = graph.node(receive).stamp as usize..graph.node(send).stamp as usize;
    let mut deleted = graph.order[after]
        .iter()
        .filter(|&&event| !covers(prefix, event));
    deleted.all(|&event| is_maximal(graph, event, send, prefix))
}

/// True when the event is not maximal given the events inserted before it. No revisit deletes such
/// an event; see `bound/mod.rs`.
pub(crate) fn is_never_deleted(graph: &Graph, event: EventId) -> bool {
    // These stand for no send, with an empty causal prefix.
    let nothing = vec![0; graph.threads.len()];
    let no_send = EventId {
        thread: ThreadId::new(graph.threads.len()),
        index: 0,
    };
    !is_maximal(graph, event, no_send, &nothing)
}

/// True when no revisit will delete the event or change its source. Either would require the event
/// to be maximal given the events inserted before it and the causal prefix of its source, and any
/// revisit keeps at least those.
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
    let no_send = EventId {
        thread: ThreadId::new(graph.threads.len()),
        index: 0,
    };
    !is_maximal(graph, event, no_send, &prefix)
}

/// True when the event is the search's first choice, given the kept events: those inserted no later
/// than it, and the causal prefix of the send, which `prefix` covers.
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
        | NodeKind::LeftOut
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
        NodeKind::Choose { .. } => node.outcome.is_first(),
        NodeKind::Read { location } | NodeKind::ReadForUpdate { location, .. } => {
            node.outcome.is_first()
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
            node.outcome.is_first()
                && kept(call)
                && (node.oldest || !older_call_waits(graph, object, event, kept))
        }
    }
}

/// True when a kept call that ranks before the one completed by `completion` could have been
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
    // Without the reduction of releases, rank is insertion order.
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

/// True when the call is completed before this position in its object's completion order.
pub(crate) fn completed_before(graph: &Graph, call: EventId, position: u64) -> bool {
    let nodes = &graph.threads[call.thread.index()].nodes;
    nodes
        .get(call.index as usize + 1)
        .is_some_and(|completion| completion.value < position)
}
