//! Sequential consistency: one order of all events explains every read.
//!
//! A graph is consistent when program order, sources, coherence, from-reads and the order of
//! completions together have no cycle. [`linearise`] finds such an order by running what can run,
//! thread by thread as far as each goes, exactly as the program will be run: a read is ready when
//! its source is the latest write placed, a write when it is next in coherence order and everyone
//! who reads the write before it has done so. If nothing is ready before all is placed, there is a
//! cycle.
//!
//! A weak graph is put in a line the same way, but reads wait for their source only and writes for
//! nothing: whether such a graph is consistent is decided elsewhere.

use super::{Graph, Kind, Node};
use crate::base::ids::{EventId, LocationId, ThreadId};

/// Puts the graph's operations in an order in which they can be run, and gives every event its
/// clocks; `false` if there is no such order. A call runs when it is completed, an atomic update
/// runs when it reads.
pub(crate) fn linearise(graph: &mut Graph, steps: &mut Vec<EventId>) -> bool {
    prepare(graph);
    steps.clear();
    let mut left = graph.order.len();
    while left > 0 {
        let left_before = left;
        for slot in 0..graph.canonical.len() {
            let thread = graph.canonical[slot];
            while let Some(id) = next_ready(graph, thread) {
                let count = place(graph, id, steps);
                graph.lines[thread.index()].placed += count;
                left -= count as usize;
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
    for line in &mut graph.lines {
        line.placed = 0;
        line.nodes.iter_mut().for_each(|node| node.unread = 0);
    }
    for machine in &mut graph.machines {
        machine.placed = 0;
        machine.inbox.placed = 0;
    }
    for index in 0..graph.cells.len() {
        graph.cells[index].placed = 0;
        graph.cells[index].unread = 0;
        for read in 0..graph.cells[index].reads.len() {
            let read = graph.cells[index].reads[read];
            match graph.node(read).source {
                Some(write) => graph.node_mut(write).unread += 1,
                None => graph.cells[index].unread += 1,
            }
        }
    }
}

/// The thread's next event, if it can be placed now.
fn next_ready(graph: &Graph, thread: ThreadId) -> Option<EventId> {
    let line = &graph.lines[thread.index()];
    let index = line.placed;
    let node = line.nodes.get(index as usize)?;
    let id = EventId { thread, index };
    let is_placed = |event: EventId| graph.lines[event.thread.index()].placed > event.index;
    let ready = match node.kind {
        Kind::Begin => line.spawned_by.is_none_or(is_placed),
        Kind::Join { target } => graph.end_of(target).is_some_and(is_placed),
        Kind::Local | Kind::Fence | Kind::Spawn { .. } | Kind::Choose { .. } => true,
        Kind::Read { .. } | Kind::ReadForUpdate { .. } if graph.weak => {
            node.source.is_none_or(is_placed)
        }
        Kind::Write { .. } | Kind::HangUp { .. } | Kind::End { .. } if graph.weak => true,
        Kind::Call { .. } | Kind::Meet { .. } => true,
        Kind::Met { barrier } => graph.is_pass_ready(barrier, id, is_placed),
        Kind::Leads { .. } | Kind::Silent { .. } => node.source.is_some_and(is_placed),
        Kind::Completion { object } => graph.machine(object).placed as u64 == node.value,
        Kind::Read { location } => latest(graph, location) == node.source,
        Kind::ReadForUpdate { location, .. } => {
            latest(graph, location) == node.source
                && match line.nodes.get(index as usize + 1) {
                    Some(&Node {
                        kind: Kind::WriteOfUpdate { .. },
                        ..
                    }) => {
                        let write = EventId {
                            index: index + 1,
                            ..id
                        };
                        is_next_write(graph, location, write) && unread(graph, location) == 1
                    }
                    _ => true,
                }
        }
        Kind::Send { port } => graph.is_send_ready(port, id, is_placed),
        Kind::Receive { ports, wait } => match node.source {
            Some(send) => is_placed(send),
            None => !wait || graph.hang_ups(ports).all(is_placed),
        },
        Kind::Delivered { .. } => node.source.is_some_and(is_placed),
        Kind::Write { location } | Kind::HangUp { location, .. } | Kind::End { location } => {
            is_next_write(graph, location, id) && unread(graph, location) == 0
        }
        Kind::WriteOfUpdate { .. } => unreachable!("placed together with its read"),
    };
    ready.then_some(id)
}

/// The write that a read would take now.
fn latest(graph: &Graph, location: LocationId) -> Option<EventId> {
    let cell = graph.cell(location);
    cell.placed.checked_sub(1).map(|index| cell.writes[index])
}

fn is_next_write(graph: &Graph, location: LocationId, write: EventId) -> bool {
    let cell = graph.cell(location);
    cell.writes.get(cell.placed) == Some(&write)
}

/// How many reads of the latest write are still to come.
fn unread(graph: &Graph, location: LocationId) -> u32 {
    match latest(graph, location) {
        Some(write) => graph.node(write).unread,
        None => graph.cell(location).unread,
    }
}

/// Places the event, and the write of an update with its read; says how many events that were.
fn place(graph: &mut Graph, id: EventId, steps: &mut Vec<EventId>) -> u32 {
    graph.set_clocks(id);
    let node = *graph.node(id);
    match node.kind {
        Kind::Call { .. } | Kind::Meet { .. } => return 1,
        Kind::Met { barrier } if node.source.is_none() => graph.machine_mut(barrier).placed += 1,
        Kind::Completion { object } => graph.machine_mut(object).placed += 1,
        Kind::Read { location } | Kind::ReadForUpdate { location, .. } => {
            match node.source {
                Some(write) => graph.node_mut(write).unread -= 1,
                None => graph.cell_mut(location).unread -= 1,
            }
            let write = EventId {
                index: id.index + 1,
                ..id
            };
            let next = graph.lines[id.thread.index()]
                .nodes
                .get(write.index as usize);
            if let Some(Node {
                kind: Kind::WriteOfUpdate { .. },
                ..
            }) = next
            {
                graph.set_clocks(write);
                graph.cell_mut(location).placed += 1;
                steps.push(id);
                return 2;
            }
        }
        Kind::Send { port } => graph.inbox_mut(port).placed += 1,
        Kind::Write { location } | Kind::HangUp { location, .. } | Kind::End { location } => {
            graph.cell_mut(location).placed += 1;
        }
        _ => {}
    }
    steps.push(id);
    1
}
