//! Linearization: an order of all events that explains every read, if there is one (sequential
//! consistency).
//!
//! A graph is consistent when program order, reads-from, coherence, from-reads and completion order
//! together are acyclic. [`linearise`] runs each thread as far as it can, exactly as the program
//! will be run. A read is ready when its source is the last write placed. A write is ready when it
//! is next in coherence order and all reads of the write before it are placed. If no event is ready
//! before all are placed, there is a cycle.
//!
//! A weak graph is linearized the same way, but a read waits only for its source and a write for
//! nothing; whether such a graph is consistent is checked separately.

use super::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, LocationId, ThreadId};

/// Orders the operations of the graph so that they can be run, and sets the clocks of all events.
/// Returns `false` if there is no such order. A call runs at its completion, an atomic update at
/// its read.
///
/// `steps` are the beginning of an earlier order: operations that depend on nothing that has changed
/// since then. They and their clocks stay as they are. If there is no order, `steps` are again the
/// beginning of one.
pub(crate) fn linearise(graph: &mut Graph, steps: &mut Vec<EventId>) -> bool {
    if graph.has_barriers_or_messages() {
        steps.clear();
    }
    let mut left = graph.order.len() - prepare(graph, steps);
    while left > 0 {
        let left_before = left;
        for slot in 0..graph.canonical.len() {
            let thread = graph.canonical[slot];
            while let Some(id) = next_ready(graph, thread) {
                let count = place(graph, id, steps);
                graph.threads[thread.index()].placed += count;
                left -= count as usize;
            }
        }
        if left == left_before {
            return false;
        }
    }
    true
}

/// Places the events of these steps, and no others; returns their number.
fn prepare(graph: &mut Graph, steps: &[EventId]) -> usize {
    for log in &mut graph.threads {
        log.placed = 0;
        log.nodes.iter_mut().for_each(|node| node.unread = 0);
    }
    for &id in steps {
        let last = graph.write_of(id).unwrap_or(id);
        graph.threads[id.thread.index()].placed = last.index + 1;
    }
    let threads = &graph.threads;
    let is_placed = |id: &EventId| threads[id.thread.index()].placed > id.index;
    for log in &mut graph.objects {
        log.placed = log
            .completions
            .iter()
            .take_while(|id| is_placed(id))
            .count();
        log.port.placed = 0;
    }
    graph.forget_accesses();
    for index in 0..graph.locations.len() {
        let location = LocationId::new(index);
        let is_placed =
            |graph: &Graph, id: EventId| graph.threads[id.thread.index()].placed > id.index;
        let log = graph.location(location);
        let writes = log.writes.iter();
        let placed = writes.take_while(|&&id| is_placed(graph, id)).count();
        let last = placed.checked_sub(1).map(|last| log.writes[last]);
        let log = graph.location_mut(location);
        (log.placed, log.unread) = (placed, 0);
        if let Some(last) = last {
            graph.add_access(last);
        }
        for read in 0..graph.location(location).reads.len() {
            let read = graph.location(location).reads[read];
            let source = graph.node(read).source;
            if is_placed(graph, read) {
                // The accesses before the last write precede it.
                if source == last {
                    graph.add_access(read);
                }
                continue;
            }
            match source {
                Some(write) => graph.node_mut(write).unread += 1,
                None => graph.location_mut(location).unread += 1,
            }
        }
    }
    let placed = graph.threads.iter().map(|log| log.placed as usize);
    placed.sum()
}

/// Returns the thread's next event if it can be placed now.
fn next_ready(graph: &Graph, thread: ThreadId) -> Option<EventId> {
    let log = &graph.threads[thread.index()];
    let index = log.placed;
    let node = log.nodes.get(index as usize)?;
    let id = EventId { thread, index };
    let is_placed = |event: EventId| graph.threads[event.thread.index()].placed > event.index;
    let ready = match node.kind {
        NodeKind::Begin => log.spawned_by.is_none_or(is_placed),
        NodeKind::Join { target } => graph.end_of(target).is_some_and(is_placed),
        NodeKind::Local
        | NodeKind::LeftOut
        | NodeKind::Fence
        | NodeKind::Spawn { .. }
        | NodeKind::Choose { .. } => true,
        NodeKind::Read { .. } | NodeKind::ReadForUpdate { .. } if graph.weak => {
            node.source.is_none_or(is_placed)
        }
        NodeKind::Write { .. } | NodeKind::HangUp { .. } | NodeKind::End { .. } if graph.weak => {
            true
        }
        NodeKind::Call { .. } | NodeKind::Arrive { .. } => true,
        NodeKind::Pass { barrier } => graph.is_pass_ready(barrier, id, is_placed),
        NodeKind::AskLeader { .. } | NodeKind::Silent { .. } => node.source.is_some_and(is_placed),
        NodeKind::Completion { object } => graph.object(object).placed as u64 == node.value,
        NodeKind::Read { location } => latest(graph, location) == node.source,
        NodeKind::ReadForUpdate { location, .. } => {
            latest(graph, location) == node.source
                && graph.write_of(id).is_none_or(|write| {
                    is_next_write(graph, location, write) && unread(graph, location) == 1
                })
        }
        NodeKind::Send { port } => graph.is_send_ready(port, id, is_placed),
        NodeKind::Receive { ports, wait } => match node.source {
            Some(send) => is_placed(send),
            None => !wait || graph.hang_ups(ports).all(is_placed),
        },
        NodeKind::Delivered { .. } => node.source.is_some_and(is_placed),
        NodeKind::Write { location }
        | NodeKind::HangUp { location, .. }
        | NodeKind::End { location } => {
            is_next_write(graph, location, id) && unread(graph, location) == 0
        }
        NodeKind::WriteOfUpdate { .. } => unreachable!("placed together with its read"),
    };
    ready.then_some(id)
}

/// Returns the last write placed, which a read would take now.
fn latest(graph: &Graph, location: LocationId) -> Option<EventId> {
    let log = graph.location(location);
    log.placed.checked_sub(1).map(|index| log.writes[index])
}

fn is_next_write(graph: &Graph, location: LocationId, write: EventId) -> bool {
    let log = graph.location(location);
    log.writes.get(log.placed) == Some(&write)
}

/// Returns the number of reads of the last write that are not placed.
fn unread(graph: &Graph, location: LocationId) -> u32 {
    match latest(graph, location) {
        Some(write) => graph.node(write).unread,
        None => graph.location(location).unread,
    }
}

/// Places the event, and with the read of an update its write, and sets their clocks; returns the number
/// of events placed.
fn place(graph: &mut Graph, id: EventId, steps: &mut Vec<EventId>) -> u32 {
    graph.set_clocks(id);
    let Node { kind, source, .. } = *graph.node(id);
    match kind {
        NodeKind::Call { .. } | NodeKind::Arrive { .. } => return 1,
        NodeKind::Pass { barrier } if source.is_none() => graph.object_mut(barrier).placed += 1,
        NodeKind::Completion { object } => graph.object_mut(object).placed += 1,
        NodeKind::Read { location } | NodeKind::ReadForUpdate { location, .. } => {
            match source {
                Some(write) => graph.node_mut(write).unread -= 1,
                None => graph.location_mut(location).unread -= 1,
            }
            if let Some(write) = graph.write_of(id) {
                graph.set_clocks(write);
                graph.location_mut(location).placed += 1;
                steps.push(id);
                return 2;
            }
        }
        NodeKind::Send { port } => graph.port_mut(port).placed += 1,
        NodeKind::Write { location }
        | NodeKind::HangUp { location, .. }
        | NodeKind::End { location } => {
            graph.location_mut(location).placed += 1;
        }
        _ => {}
    }
    steps.push(id);
    1
}
