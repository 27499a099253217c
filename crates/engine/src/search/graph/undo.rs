//! Going back: the last insertions undone, or the part of a graph that a revisit keeps.

use super::{Cell, Graph, Kind, Line, Machine};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::covers;

/// Makes the one equal to the other, keeping as much of its memory as it can.
fn copy<T: Clone>(to: &mut Vec<T>, from: &[T]) {
    to.truncate(from.len());
    let (same, more) = from.split_at(to.len());
    to.clone_from_slice(same);
    to.extend_from_slice(more);
}

impl Graph {
    /// Undoes insertions until `keep` events are left.
    pub(crate) fn truncate(&mut self, keep: usize) {
        while self.order.len() > keep {
            let id = self.order.pop().expect("longer than keep");
            let line = &mut self.lines[id.thread.index()];
            let node = line.nodes.pop().expect("the event is in its line");
            debug_assert_eq!(line.nodes.len(), id.index as usize);
            line.pauses -= u32::from(node.kind.is_pause());
            self.memory -= u32::from(node.kind.is_memory());
            self.messages -= u32::from(node.kind.is_message());
            match node.kind {
                Kind::Spawn { child } => {
                    self.lines[child.index()].live = false;
                    self.canonical.retain(|&thread| thread != child);
                }
                Kind::Call { object, .. } => {
                    self.machine_mut(object).calls.pop();
                }
                Kind::Completion { object } => {
                    let machine = self.machine_mut(object);
                    machine.completions.pop();
                    machine.passings.pop();
                    machine.states.pop();
                }
                kind => {
                    self.leave_inboxes(id, kind, node.source);
                    self.leave_hall(id, kind, node.source);
                    if let Some(location) = kind.reads() {
                        self.cell_mut(location).reads.pop();
                    }
                    if let Some(location) = kind.writes() {
                        self.unplace(location, id);
                    }
                }
            }
        }
    }

    /// Makes this graph the part of `whole` that a revisit of `receive` keeps: what was inserted no
    /// later than the receive, and what the send depends on, which `prefix` covers.
    pub(crate) fn restrict(&mut self, whole: &Graph, receive: EventId, prefix: &[u32]) {
        let last = whole.node(receive).stamp;
        let keep = |id: EventId| whole.node(id).stamp <= last || covers(prefix, id);
        self.width = whole.width;
        (self.reductions, self.shuffle) = (whole.reductions, whole.shuffle);
        self.weak = whole.weak;
        let counts = whole.memory + whole.meetings > 0;
        let is = |what: fn(&Kind) -> bool| {
            let kept = whole.order.iter().filter(|&&id| keep(id));
            kept.filter(|&&id| what(&whole.node(id).kind)).count() as u32
        };
        (self.memory, self.meetings, self.messages) = match counts {
            true => (
                is(Kind::is_memory),
                is(|kind| matches!(kind, Kind::Meet { .. })),
                is(Kind::is_message),
            ),
            false => (0, 0, 0),
        };
        // Without memory they depend on nothing that could have gone, nor in a weak graph.
        let keep_clocks = whole.memory == 0 || whole.weak;
        let row = whole.row();
        self.order.clear();
        self.order
            .extend(whole.order.iter().copied().filter(|&id| keep(id)));
        self.lines.resize_with(whole.lines.len(), Line::default);
        for (index, (line, from)) in self.lines.iter_mut().zip(&whole.lines).enumerate() {
            let thread = ThreadId::new(index);
            let kept = (0..from.nodes.len() as u32)
                .take_while(|&index| keep(EventId { thread, index }))
                .count();
            line.nodes.clear();
            line.nodes.extend_from_slice(&from.nodes[..kept]);
            line.pauses = match from.pauses {
                0 => 0,
                _ => line
                    .nodes
                    .iter()
                    .map(|it| u32::from(it.kind.is_pause()))
                    .sum(),
            };
            copy(&mut line.sites, &from.sites[..kept.min(from.sites.len())]);
            if keep_clocks {
                line.clocks.clear();
                line.clocks.extend_from_slice(&from.clocks[..kept * row]);
            }
            line.live = from.live && from.spawned_by.is_none_or(keep);
            line.spawned_by = from.spawned_by;
            line.place = from.place;
            line.depth = from.depth;
            line.key = from.key;
            line.ended = from.ended;
        }
        let lines = &self.lines;
        self.canonical.clear();
        self.canonical.extend(
            whole
                .canonical
                .iter()
                .copied()
                .filter(|thread| lines[thread.index()].live),
        );
        self.cells.resize_with(whole.cells.len(), Cell::default);
        for (cell, from) in self.cells.iter_mut().zip(&whole.cells) {
            cell.initial = from.initial;
            cell.reserved = from.reserved;
            cell.writes.clear();
            cell.writes
                .extend(from.writes.iter().copied().filter(|&id| keep(id)));
            cell.reads.clear();
            cell.reads
                .extend(from.reads.iter().copied().filter(|&id| keep(id)));
        }
        self.machines
            .resize_with(whole.machines.len(), Machine::default);
        for (machine, from) in self.machines.iter_mut().zip(&whole.machines) {
            machine.completions.clear();
            machine
                .completions
                .extend(from.completions.iter().copied().take_while(|&id| keep(id)));
            let states = from.states.len().min(machine.completions.len() + 1);
            copy(&mut machine.states, &from.states[..states]);
            let passings = from.passings.len().min(machine.completions.len());
            copy(&mut machine.passings, &from.passings[..passings]);
            machine.calls.clear();
            machine
                .calls
                .extend(from.calls.iter().copied().filter(|&id| keep(id)));
            machine.inbox.restrict(&from.inbox, keep);
            machine.hall.restrict(&from.hall, keep);
        }
        self.port_lists.clone_from(&whole.port_lists);
        self.forget_lost_receives(keep);
        self.forget_lost_meetings(keep);
        for stamp in 0..self.order.len() as u32 {
            let id = self.order[stamp as usize];
            let run = self.run_before(stamp, id);
            let node = self.node_mut(id);
            node.stamp = stamp;
            node.run = run;
        }
    }
}
