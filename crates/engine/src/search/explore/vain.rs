//! Reads in vain: rounds of spin loops that no graph of a subtree gets rid of.
//!
//! A thread that is stopped because it would repeat its round goes on only after a revisit of the round's last read,
//! or after one that deletes the read. Both require that the read is maximal. If it can never be maximal again, the
//! thread is stopped in every graph that descends from this one, and none of these executions counts. The same
//! execution without the round is in another subtree, and there the thread reads later. (Await loops without
//! blocked executions: Kokologiannakis et al., CAV 2023.)
//!
//! The causal prefix of a read determines the events of its thread up to the next receive. So a read that was in
//! vain is in vain in every graph in which it has the same causal prefix, and need not be tried there.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use super::fixed::is_receive;
use super::frame::{Branch, Change, Frame};
use super::revisit::is_final;
use crate::base::ids::{EventId, ThreadId};
use crate::memory::clock::{covers, join};
use crate::search::graph::{Graph, NodeKind};

/// Maximum number of reads in vain that are kept: some 4 MiB.
const MAX_KNOWN: usize = 1 << 16;

/// Reads that were in vain.
#[derive(Debug, Default)]
pub(crate) struct VainReads {
    /// By read and source, the fingerprints of their causal prefixes.
    prefixes: BTreeMap<(EventId, Option<EventId>), Vec<u64>>,
    count: usize,
    /// The last reads of threads that are stopped in this run.
    stopped: Vec<EventId>,
}

impl VainReads {
    /// Forgets the stopped threads of the last run.
    #[inline]
    pub(crate) fn begin_run(&mut self) {
        self.stopped.clear();
    }

    /// Adds the last read of a thread that is stopped; true when it is stopped in every graph that descends from this
    /// one.
    pub(crate) fn add(&mut self, graph: &Graph, thread: ThreadId) -> bool {
        let Some(read) = graph.last_read(thread) else {
            return false;
        };
        let node = graph.node(read);
        if node.outcome.is_first() && self.count < MAX_KNOWN {
            let clock = graph.prefix(read, node.source);
            let fingerprint = graph.fingerprint_of(&clock);
            let known = self.prefixes.entry((read, node.source)).or_default();
            if !known.contains(&fingerprint) {
                known.push(fingerprint);
                self.count += 1;
            }
        }
        self.stopped.push(read);
        graph.is_stale_for_good(read)
    }

    /// Removes those of the newest branches in which the stale source of a new read leaves a thread stopped for good:
    /// the thread of the read, or another one.
    #[inline]
    pub(crate) fn leave_out(&self, frame: &mut Frame, first: usize) {
        if self.count > 0 && frame.branches.len() > first {
            self.leave_out_stale(frame, first);
        }
    }

    #[inline(never)]
    fn leave_out_stale(&self, frame: &mut Frame, first: usize) {
        let graph = &frame.graph;
        let is_left_out = |branch: &Branch| match branch.change {
            Change::Source {
                read,
                source,
                outcome,
            } if outcome.is_first() => self.is_useless(graph, read, source),
            _ => false,
        };
        let newest = frame.branches.drain(first..);
        let kept: Vec<_> = newest.filter(|branch| !is_left_out(branch)).collect();
        frame.branches.extend(kept);
    }

    /// True when a thread is stopped in every graph that descends from one with this stale source of a new read. Such
    /// a read is final, with its causal prefix.
    fn is_useless(&self, graph: &Graph, read: EventId, source: Option<EventId>) -> bool {
        let known = self.prefixes.get(&(read, source));
        if known.is_none() && self.stopped.is_empty() {
            return false;
        }
        let clock = graph.prefix(read, source);
        let follows = |&other: &EventId| covers_any(&clock, graph.later_writes(other));
        self.stopped.iter().any(follows)
            || known.is_some_and(|known| known.contains(&graph.fingerprint_of(&clock)))
    }
}

impl Graph {
    /// Returns the clock of the causal prefix that the read would have with this source, without the read.
    fn prefix(&self, read: EventId, source: Option<EventId>) -> Vec<u32> {
        let mut clock = vec![0; self.width];
        let previous = read.index.checked_sub(1);
        let previous = previous.map(|index| EventId { index, ..read });
        for event in previous.into_iter().chain(source) {
            join(&mut clock, self.causal(event));
        }
        clock
    }

    /// Returns a fingerprint of a causal prefix. Events of equal prefixes have the same operations, because the
    /// program is deterministic.
    fn fingerprint_of(&self, clock: &[u32]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (log, &count) in self.threads.iter().zip(clock) {
            count.hash(&mut hasher);
            for node in &log.nodes[..count as usize] {
                discriminant(&node.kind).hash(&mut hasher);
                (node.source, node.outcome.number()).hash(&mut hasher);
                match node.kind {
                    NodeKind::Spawn { child } => child.hash(&mut hasher),
                    // Values may be addresses, which differ from run to run.
                    kind if kind.writes().is_some() => {}
                    _ => node.value.hash(&mut hasher),
                }
            }
        }
        hasher.finish()
    }

    /// Returns the last read of a thread if only pauses and fences follow it.
    fn last_read(&self, thread: ThreadId) -> Option<EventId> {
        let nodes = &self.threads[thread.index()].nodes;
        let passes = |kind: &NodeKind| matches!(kind, NodeKind::Local | NodeKind::Fence);
        let index = nodes.iter().rposition(|node| !passes(&node.kind))?;
        nodes[index].kind.reads().map(|_| EventId {
            thread,
            index: index as u32,
        })
    }

    /// Returns the writes that follow the source of a read in coherence order.
    fn later_writes(&self, read: EventId) -> &[EventId] {
        let node = self.node(read);
        let Some(location) = node.kind.reads() else {
            return &[];
        };
        let place = self.coherence(location, node.source);
        &self.location(location).writes[place..]
    }

    /// True when the read will not be maximal in any revisit that would change or delete it, because a write that
    /// follows its source in coherence order is kept. No event may depend on the read.
    fn is_stale_for_good(&self, read: EventId) -> bool {
        let stamp = self.node(read).stamp;
        let later = self.later_writes(read);
        if later.iter().any(|&write| self.node(write).stamp < stamp) {
            return true;
        }
        !later.is_empty()
            && self.order[stamp as usize..].iter().any(|&event| {
                // An event is deleted only if its source is kept. A final event is never deleted.
                let source = self.late_source(event);
                source.is_some_and(|source| covers_any(self.causal(source), later))
                    || is_receive(self, event)
                        && covers_any(self.causal(event), later)
                        && is_final(self, event)
            })
    }

    /// Returns the source of a read or of a completion if it was inserted after it.
    fn late_source(&self, event: EventId) -> Option<EventId> {
        let node = self.node(event);
        let source = match node.kind {
            NodeKind::Read { .. } | NodeKind::ReadForUpdate { .. } => node.source?,
            NodeKind::Completion { .. } => EventId {
                index: event.index - 1,
                ..event
            },
            _ => return None,
        };
        (self.node(source).stamp > node.stamp).then_some(source)
    }
}

fn covers_any(clock: &[u32], events: &[EventId]) -> bool {
    events.iter().any(|&event| covers(clock, event))
}
