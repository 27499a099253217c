//! Weak graphs: consistency under RC11.
//!
//! Happens-before decides consistency: a read may take any write at or above its coherence floor,
//! and a write may have any position above it. Happens-before of an event depends on no event added
//! later, so clocks never change, and every order that puts sources first is a linearization. Only
//! SeqCst requires a check of the whole graph (`psc`).

use super::frame::{Change, Frame};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::memory::clock::covers;
use crate::memory::psc::{Psc, Touch};
use crate::memory::{Strength, Weakness};
use crate::model::operation::UpdateKind;
use crate::search::graph::linearise::linearise;
use crate::search::graph::{Graph, Node, NodeKind};

impl Frame {
    /// Turns the graph into a weak one.
    pub(crate) fn weaken(&mut self) {
        if self.graph.weak {
            return;
        }
        self.graph.weak = true;
        for log in &mut self.graph.threads {
            log.clocks.clear();
        }
        self.steps.clear();
        let placed = linearise(&mut self.graph, &mut self.steps);
        debug_assert!(
            placed,
            "what one order explains, sources first explains too"
        );
        self.is_mixed = true;
    }

    /// Applies a change that keeps the linearization valid; returns `false` if it is another kind
    /// of change.
    pub(crate) fn make_weakly(&mut self, change: Change) -> bool {
        self.graph.forget_accesses();
        match change {
            Change::Source { read, .. } => {
                self.run_at_the_end(read);
                self.apply(change);
                self.graph.set_clocks(read);
            }
            Change::PlaceForRead { read, .. } => {
                self.apply(change);
                self.graph.set_clocks(read);
            }
            Change::Place { .. } | Change::Choose { .. } => self.apply(change),
            Change::Complete { stamp, .. } => {
                let last = self.steps.pop() == Some(self.graph.order[stamp as usize]);
                self.apply(change);
                if !last {
                    self.in_order = false;
                    return true;
                }
                self.run_last(stamp);
            }
            _ => return false,
        }
        true
    }

    /// Moves a read, on which no event depends, to the end of the linearization. A linearization that was found may
    /// have it before its new source.
    fn run_at_the_end(&mut self, read: EventId) {
        if self.steps.last() != Some(&read) {
            self.steps.retain(|&step| step != read);
            self.steps.push(read);
        }
    }

    /// Returns the read and the later-inserted write that the change makes its source.
    pub(crate) fn revisited_by(&self, change: Change) -> Option<(EventId, EventId)> {
        match change {
            Change::PlaceForRead { read, write, .. } => Some((read, write)),
            Change::Source {
                read,
                source: Some(write),
                ..
            } if self.graph.node(write).stamp > self.graph.node(read).stamp => Some((read, write)),
            _ => None,
        }
    }

    /// Makes a weak graph ready to run; returns `false` if it is inconsistent.
    pub(crate) fn make_runnable_weakly(&mut self, psc: &mut Psc) -> bool {
        if !self.in_order {
            self.is_mixed = true;
            self.steps.clear();
            if !linearise(&mut self.graph, &mut self.steps) {
                return false;
            }
            self.in_order = true;
        }
        if let Some((read, write)) = self.revisited.take()
            && !(self.graph.is_coherent(read) && self.graph.is_coherent(write))
        {
            return false;
        }
        if !self.graph.is_strong_enough(psc) {
            return false;
        }
        while let Some((read, location, value)) = self.missing_write() {
            let source = self.graph.node(read).source;
            let position = self.graph.coherence(location, source);
            let kind = NodeKind::WriteOfUpdate { location };
            let write = self.push_write(read.thread, kind, location, value);
            if !self.graph.may_place(location, position) {
                return false;
            }
            self.graph.place(location, write, position);
            if !self.graph.is_strong_enough(psc) {
                return false;
            }
        }
        true
    }
}

impl Graph {
    /// Returns the weakness of all events.
    pub(crate) fn find_weakness(&self) -> Weakness {
        let of = |node: &Node| match node.kind {
            NodeKind::Fence => Weakness::WEAK,
            NodeKind::Write { .. } => Weakness::of_access(node.strength.is_seq_cst()),
            // The read of a thread's end is not an access of the program.
            NodeKind::Read { location } if self.location(location).is_reserved() => Weakness::LOOSE,
            NodeKind::Read { .. } => Weakness::of_access(node.strength.is_seq_cst()),
            NodeKind::ReadForUpdate { update, .. } => {
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                let is_strong = |strength: Strength| strength.is_seq_cst();
                let fails_strongly = !may_fail || is_strong(node.failure);
                Weakness::of_access(is_strong(node.strength) && fails_strongly)
            }
            NodeKind::Call { call, .. } if !call.is_tight() => Weakness::LOOSE,
            NodeKind::Receive { wait: false, .. } => Weakness::LOOSE,
            _ => Weakness::NONE,
        };
        let nodes = self.threads.iter().flat_map(|log| &log.nodes);
        nodes.map(of).fold(Weakness::NONE, Weakness::and)
    }

    /// Returns the coherence floor of the event: number of writes, in coherence order, up to the
    /// last one that happens before it or is read by a read that does.
    pub(crate) fn weak_coherence_floor(&self, event: EventId, location: LocationId) -> usize {
        let Some(index) = event.index.checked_sub(1) else {
            return 0;
        };
        let before = self.hb(EventId { index, ..event });
        let log = self.location(location);
        let known = log.writes.iter().rposition(|&write| covers(before, write));
        let mut known = known.map_or(0, |place| place + 1);
        for &read in log.reads.iter().rev() {
            if known == log.writes.len() {
                break;
            }
            if covers(before, read) {
                known = known.max(self.coherence(location, self.node(read).source));
            }
        }
        known
    }

    /// True when the event is at or above its coherence floor, and does not separate an update from
    /// its source.
    fn is_coherent(&self, event: EventId) -> bool {
        let kind = self.node(event).kind;
        if let Some(location) = kind.writes() {
            let place = self.coherence(location, Some(event));
            let torn = self
                .location(location)
                .writes
                .get(place)
                .is_some_and(|&next| {
                    let is_update = matches!(self.node(next).kind, NodeKind::WriteOfUpdate { .. });
                    let read = |index| EventId { index, ..next };
                    is_update && self.node(read(next.index - 1)).source != Some(event)
                });
            return !torn && place > self.weak_coherence_floor(event, location);
        }
        match kind.reads() {
            Some(location) => {
                let place = self.coherence(location, self.node(event).source);
                place >= self.weak_coherence_floor(event, location)
            }
            None => true,
        }
    }

    pub(crate) fn has_barriers_or_messages(&self) -> bool {
        self.arrivals > 0 || self.messages > 0
    }

    /// True when the SeqCst events satisfy `psc`.
    fn is_strong_enough(&self, psc: &mut Psc) -> bool {
        psc.clear();
        for (thread, log) in self.threads.iter().enumerate() {
            psc.begin_thread();
            for (index, node) in log.nodes.iter().enumerate() {
                let id = EventId {
                    thread: ThreadId::new(thread),
                    index: index as u32,
                };
                let location = node.kind.reads().or(node.kind.writes());
                let place = |of| location.map(|location| self.coherence(location, of) as u32);
                psc.add(Touch {
                    location: location.map(|location| location.index() as u32),
                    read: node.kind.reads().and_then(|_| place(node.source)),
                    written: node.kind.writes().and_then(|_| place(Some(id))),
                    seq_cst: location.is_some() && self.strength_of(id, node).is_seq_cst()
                        || matches!(node.kind, NodeKind::Fence) && node.strength.is_seq_cst(),
                    fence: matches!(node.kind, NodeKind::Fence),
                    continues: matches!(node.kind, NodeKind::WriteOfUpdate { .. }),
                });
            }
        }
        psc.holds(|thread, index| {
            self.hb(EventId {
                thread: ThreadId::new(thread as usize),
                index,
            })
        })
    }
}
