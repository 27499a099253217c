//! Removing events: undoing the last insertions, or restricting a graph to the part that a revisit
//! keeps.

use super::{Graph, LocationLog, NodeKind, ObjectLog, ThreadLog};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::covers;

/// Makes `to` equal to `from` and reuses the memory of its elements.
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
            let log = &mut self.threads[id.thread.index()];
            let node = log.nodes.pop().expect("the event is in its line");
            debug_assert_eq!(log.nodes.len(), id.index as usize);
            log.pauses -= u32::from(node.kind.is_pause());
            self.memory -= u32::from(node.kind.is_memory());
            self.messages -= u32::from(node.kind.is_message());
            match node.kind {
                NodeKind::Spawn { child } => {
                    self.threads[child.index()].live = false;
                    self.canonical.retain(|&thread| thread != child);
                }
                NodeKind::Call { object, .. } => {
                    self.object_mut(object).calls.pop();
                }
                NodeKind::Completion { object } => {
                    self.object_mut(object).pop_completion();
                }
                kind => {
                    self.unrecord_at_ports(id, kind, node.source);
                    self.unrecord_at_barrier(id, kind, node.source);
                    if let Some(location) = kind.reads() {
                        self.location_mut(location).reads.pop();
                    }
                    if let Some(location) = kind.writes() {
                        self.unplace(location, id);
                    }
                }
            }
        }
    }

    /// Makes this graph the part of `whole` that a revisit of `receive` keeps: events inserted no
    /// later than the receive, and the causal prefix of the send, which `prefix` covers.
    pub(crate) fn restrict(&mut self, whole: &Graph, receive: EventId, prefix: &[u32]) {
        let last = whole.node(receive).stamp;
        let keep = |id: EventId| whole.node(id).stamp <= last || covers(prefix, id);
        self.width = whole.width;
        (self.reductions, self.shuffle) = (whole.reductions, whole.shuffle);
        (self.weak, self.weakness) = (whole.weak, whole.weakness);
        let row = whole.row();
        // Up to the receive, nothing is removed, and nothing changes its place.
        let (first, later) = whole.order.split_at(last as usize + 1);
        self.order.clear();
        self.order.extend_from_slice(first);
        self.order
            .extend(later.iter().copied().filter(|&id| covers(prefix, id)));
        (self.memory, self.arrivals, self.messages) = (0, 0, 0);
        if whole.memory + whole.arrivals > 0 {
            for &id in &self.order {
                let kind = &whole.node(id).kind;
                self.memory += u32::from(kind.is_memory());
                self.arrivals += u32::from(matches!(kind, NodeKind::Arrive { .. }));
                self.messages += u32::from(kind.is_message());
            }
        }
        self.threads
            .resize_with(whole.threads.len(), ThreadLog::default);
        for (index, (log, from)) in self.threads.iter_mut().zip(&whole.threads).enumerate() {
            let thread = ThreadId::new(index);
            let kept = (0..from.nodes.len() as u32)
                .take_while(|&index| keep(EventId { thread, index }))
                .count();
            log.nodes.clear();
            log.nodes.extend_from_slice(&from.nodes[..kept]);
            log.pauses = match from.pauses {
                0 => 0,
                _ => log
                    .nodes
                    .iter()
                    .map(|it| u32::from(it.kind.is_pause()))
                    .sum(),
            };
            copy(&mut log.sites, &from.sites[..kept.min(from.sites.len())]);
            // In a graph with memory accesses that is not weak, clocks may depend on events that are not
            // kept. Those of the steps that are kept do not.
            log.clocks.clear();
            log.clocks.extend_from_slice(&from.clocks[..kept * row]);
            log.live = from.live && from.spawned_by.is_none_or(keep);
            log.spawned_by = from.spawned_by;
            log.place = from.place;
            log.depth = from.depth;
            log.key = from.key;
            log.ended = from.ended;
        }
        let lines = &self.threads;
        self.canonical.clear();
        self.canonical.extend(
            whole
                .canonical
                .iter()
                .copied()
                .filter(|thread| lines[thread.index()].live),
        );
        self.locations
            .resize_with(whole.locations.len(), LocationLog::default);
        for (log, from) in self.locations.iter_mut().zip(&whole.locations) {
            log.initial = from.initial;
            log.reserved = from.reserved;
            log.writes.clear();
            log.writes
                .extend(from.writes.iter().copied().filter(|&id| keep(id)));
            log.reads.clear();
            log.reads
                .extend(from.reads.iter().copied().filter(|&id| keep(id)));
        }
        self.objects
            .resize_with(whole.objects.len(), ObjectLog::default);
        for (log, from) in self.objects.iter_mut().zip(&whole.objects) {
            log.completions.clear();
            log.completions
                .extend(from.completions.iter().copied().take_while(|&id| keep(id)));
            let states = from.states.len().min(log.completions.len() + 1);
            copy(&mut log.states, &from.states[..states]);
            let synchronizations = from.synchronizations.len().min(log.completions.len());
            copy(
                &mut log.synchronizations,
                &from.synchronizations[..synchronizations],
            );
            log.calls.clear();
            log.calls
                .extend(from.calls.iter().copied().filter(|&id| keep(id)));
            log.port.restrict(&from.port, keep);
            log.barrier.restrict(&from.barrier, keep);
        }
        self.port_lists.clone_from(&whole.port_lists);
        self.forget_lost_receives(keep);
        self.forget_lost_groups(keep);
        for stamp in first.len() as u32..self.order.len() as u32 {
            let id = self.order[stamp as usize];
            let run = self.run_before(stamp, id);
            let node = self.node_mut(id);
            node.stamp = stamp;
            node.run = run;
        }
    }
}
