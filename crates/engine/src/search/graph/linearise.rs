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

use super::{Graph, NodeKind};
use crate::base::ids::{EventId, LocationId, ThreadId};

/// Orders the operations of the graph so that they can be run, and sets the clocks of all events.
/// Returns `false` if there is no such order. A call runs at its completion, an atomic update at
/// its read.
///
/// `steps` are the first operations of an earlier order, up to the first one that was changed or
/// removed. As long as the others are ready in that order, they and their clocks stay as they are: they
/// depend on nothing that comes later. If there is no order, `steps` are again such a part.
pub(crate) fn linearise(graph: &mut Graph, steps: &mut Vec<EventId>) -> bool {
    prepare(graph);
    let mut left = graph.order.len();
    let mut kept = 0;
    while let Some(&id) = steps.get(kept)
        && place_again(graph, id, &mut left)
    {
        kept += 1;
    }
    steps.truncate(kept);
    while left > 0 {
        let left_before = left;
        for slot in 0..graph.canonical.len() {
            let thread = graph.canonical[slot];
            while let Some(id) = next_ready(graph, thread) {
                graph.set_clocks(id);
                let Placed { write, is_step } = place(graph, id);
                if let Some(write) = write {
                    graph.set_clocks(write);
                }
                if is_step {
                    steps.push(id);
                }
                left -= 1 + usize::from(write.is_some());
            }
        }
        if left == left_before {
            return false;
        }
    }
    true
}

fn prepare(graph: &mut Graph) {
    graph.forget_accesses();
    for log in &mut graph.threads {
        log.placed = 0;
        log.nodes.iter_mut().for_each(|node| node.unread = 0);
    }
    for log in &mut graph.objects {
        log.placed = 0;
        log.port.placed = 0;
    }
    for index in 0..graph.locations.len() {
        graph.locations[index].placed = 0;
        graph.locations[index].unread = 0;
        for read in 0..graph.locations[index].reads.len() {
            let read = graph.locations[index].reads[read];
            match graph.node(read).source {
                Some(write) => graph.node_mut(write).unread += 1,
                None => graph.locations[index].unread += 1,
            }
        }
    }
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
        NodeKind::Local | NodeKind::Fence | NodeKind::Spawn { .. } | NodeKind::Choose { .. } => {
            true
        }
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

/// An event that was placed.
struct Placed {
    /// The write of an update, which was placed together with its read.
    write: Option<EventId>,
    /// False for a call, which is run at its completion.
    is_step: bool,
}

/// Places the event, and with the read of an update its write.
fn place(graph: &mut Graph, id: EventId) -> Placed {
    let node = *graph.node(id);
    let mut update = None;
    match node.kind {
        NodeKind::Pass { barrier } if node.source.is_none() => {
            graph.object_mut(barrier).placed += 1
        }
        NodeKind::Completion { object } => graph.object_mut(object).placed += 1,
        NodeKind::Read { location } | NodeKind::ReadForUpdate { location, .. } => {
            match node.source {
                Some(write) => graph.node_mut(write).unread -= 1,
                None => graph.location_mut(location).unread -= 1,
            }
            update = graph.write_of(id);
            graph.location_mut(location).placed += usize::from(update.is_some());
        }
        NodeKind::Send { port } => graph.port_mut(port).placed += 1,
        NodeKind::Write { location }
        | NodeKind::HangUp { location, .. }
        | NodeKind::End { location } => {
            graph.location_mut(location).placed += 1;
        }
        _ => {}
    }
    graph.threads[id.thread.index()].placed += 1 + u32::from(update.is_some());
    Placed {
        write: update,
        is_step: !matches!(node.kind, NodeKind::Call { .. } | NodeKind::Arrive { .. }),
    }
}

/// Places the operation of an earlier order, and the calls before it, whose clocks are valid; subtracts
/// them from the number of events `left`. False if the operation is not ready now.
fn place_again(graph: &mut Graph, id: EventId, left: &mut usize) -> bool {
    while let Some(next) = next_ready(graph, id.thread)
        && next.index <= id.index
    {
        let Placed { write, .. } = place(graph, next);
        *left -= 1 + usize::from(write.is_some());
        if next == id {
            graph.add_access(write.unwrap_or(id));
            return true;
        }
    }
    false
}
