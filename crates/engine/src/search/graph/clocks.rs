//! Vector clocks of the events of a graph.
//!
//! Each event has two. `causal` covers program order, reads-from, spawn and join, and the
//! completion order of each object; it never changes while the event exists. `hb` adds coherence
//! and from-reads, as one linearization of the graph shows them. A clock counts, for each thread,
//! the events that precede the event or are it.
//!
//! In a weak graph `hb` is happens-before, where of two completions on one object only those that
//! synchronize are ordered. It is smaller than `causal` and never changes either. There are three
//! more clocks. `ACQUIRABLE` is what the thread's reads would have acquired had they been
//! acquire reads; an acquire fence takes it. `FENCE` is `hb` at the thread's last release
//! fence. `RELEASE` is what a write releases to the reads that acquire from it.

use std::sync::atomic::Ordering;

use super::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, LocationId};
use crate::memory::Strength;
use crate::memory::clock::{covers, join};
use crate::object::synchronization::Synchronization;

/// Number of clocks of an event.
const CLOCKS: usize = 2;
const WEAK_CLOCKS: usize = 5;
/// Index of each clock in a weak graph.
const HB: usize = 1;
const ACQUIRABLE: usize = 2;
const FENCE: usize = 3;
const RELEASE: usize = 4;

impl Graph {
    /// Number of reads of the location, from the first inserted, that the write causally depends
    /// on. Cached while a graph is extended, because the causal past of a thread only grows.
    pub(crate) fn known_reads(&mut self, location: LocationId, write: EventId) -> usize {
        let row = self.row();
        let log = &self.threads[write.thread.index()];
        let prefix = &log.clocks[write.index as usize * row..][..self.width];
        let log = &mut self.locations[location.index()];
        log.known_reads.resize(self.width, 0);
        let known = &mut log.known_reads[write.thread.index()];
        let further = log.reads[*known as usize..].iter();
        *known += further.take_while(|&&read| covers(prefix, read)).count() as u32;
        *known as usize
    }

    pub(crate) fn causal(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[..self.width]
    }

    pub(crate) fn hb(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[self.width..2 * self.width]
    }

    /// Returns the release clock of a write in a weak graph.
    fn release_clock(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[RELEASE * self.width..]
    }

    /// Number of entries of all clocks of an event.
    #[inline]
    pub(crate) fn row(&self) -> usize {
        match self.weak {
            true => WEAK_CLOCKS * self.width,
            false => CLOCKS * self.width,
        }
    }

    /// Returns all clocks of an event, one after the other.
    fn clocks(&self, id: EventId) -> &[u32] {
        let row = self.row();
        &self.threads[id.thread.index()].clocks[id.index as usize * row..][..row]
    }

    /// Doubles the number of threads that fit into every clock.
    pub(crate) fn widen(&mut self) {
        let (old, new) = (self.width, self.width * 2);
        let relay = |clocks: &mut Vec<u32>| {
            let mut wide = vec![0; clocks.len() / old * new];
            for (clock, from) in wide.chunks_exact_mut(new).zip(clocks.chunks_exact(old)) {
                clock[..old].copy_from_slice(from);
            }
            *clocks = wide;
        };
        for log in &mut self.threads {
            relay(&mut log.clocks);
        }
        for log in &mut self.locations {
            relay(&mut log.accesses);
        }
        self.width = new;
    }

    /// Sets the clocks of an event. The clocks of its predecessors must be set.
    pub(crate) fn set_clocks(&mut self, id: EventId) {
        let (width, row) = (self.width, self.row());
        let start = id.index as usize * row;
        let node = *self.node(id);
        let mine = id.thread.index();
        let mut clocks = std::mem::take(&mut self.threads[mine].clocks);
        if clocks.len() < start + row {
            clocks.resize(start + row, 0);
        }
        match start.checked_sub(row) {
            Some(previous) => clocks.copy_within(previous..start, start),
            None => clocks[..row].fill(0),
        }
        let own = &mut clocks[start..start + row];
        own[mine] = id.index + 1;
        own[width + mine] = id.index + 1;
        let comes_from = match node.kind {
            NodeKind::Begin => self.threads[mine].spawned_by,
            NodeKind::Join { target } => self.end_of(target),
            NodeKind::Completion { object } => {
                let earlier = (node.value as usize).checked_sub(1);
                earlier.map(|position| self.object(object).completions[position])
            }
            NodeKind::Send { .. } | NodeKind::Arrive { .. } => None,
            NodeKind::Pass { barrier } if node.source.is_none() => {
                let earlier = (node.value as usize).checked_sub(1);
                earlier.map(|position| self.object(barrier).completions[position])
            }
            _ => node.source,
        };
        // In a weak graph these events are ordered by release and acquire only.
        let synchronizes = match node.kind {
            NodeKind::Completion { .. } | NodeKind::Silent { .. } => true,
            NodeKind::Pass { .. } => node.source.is_none(),
            kind => kind.reads().is_some(),
        };
        // Events of the same thread precede it anyway, and their clocks are moved out here.
        if let Some(from) = comes_from.filter(|from| from.thread != id.thread) {
            let clocks = if self.weak && synchronizes { 1 } else { CLOCKS };
            join(&mut own[..clocks * width], self.clocks(from));
        }
        if let NodeKind::Pass { .. } = node.kind
            && node.source.is_none()
        {
            for member in self.members(id).filter(|one| one.thread != id.thread) {
                join(&mut own[..CLOCKS * width], self.clocks(member));
            }
        }
        if let NodeKind::Receive { ports, wait: true } = node.kind
            && node.source.is_none()
        {
            for hang_up in self.hang_ups(ports).filter(|one| one.thread != id.thread) {
                join(&mut own[..CLOCKS * width], self.clocks(hang_up));
            }
        }
        if self.weak {
            self.set_release_clocks(id, &node, &mut clocks);
            self.threads[mine].clocks = clocks;
            return;
        }
        let is_end = matches!(node.kind, NodeKind::End { .. });
        let touched = node.kind.reads().or(node.kind.writes());
        // The end of a thread matters only if some event reads it.
        let touched =
            touched.filter(|&location| !is_end || !self.location(location).reads.is_empty());
        if let Some(location) = touched {
            let accesses = &mut self.locations[location.index()].accesses;
            accesses.resize(width, 0);
            let before = &mut own[width..];
            if node.kind.writes().is_some() {
                join(before, accesses);
            }
            join(accesses, before);
        }
        self.threads[mine].clocks = clocks;
    }

    /// Sets the causal clocks of all events of a graph that was just read from text. Linearization
    /// sets the `hb` clocks.
    pub(crate) fn find_clocks(&mut self) {
        let row = self.row();
        for log in &mut self.threads {
            log.clocks = vec![0; log.nodes.len() * row];
        }
        // A receive may be inserted before its source, so this iterates to a fixpoint.
        let mut known: Vec<u32> = Vec::new();
        let mut learns = true;
        while std::mem::take(&mut learns) {
            for position in 0..self.order.len() {
                let id = self.order[position];
                known.clear();
                known.extend_from_slice(self.causal(id));
                self.set_clocks(id);
                learns |= known != self.causal(id);
            }
        }
        self.forget_accesses();
    }

    /// In a weak graph: sets the clocks that a read acquires, a fence updates and a write releases.
    /// `clocks` are those of the event's thread, moved out of the graph.
    fn set_release_clocks(&self, id: EventId, node: &Node, clocks: &mut [u32]) {
        let (width, row) = (self.width, self.row());
        let start = id.index as usize * row;
        let (earlier, own) = clocks.split_at_mut(start);
        let own = &mut own[..row];
        let of = |write: EventId| match write.thread == id.thread {
            true => &earlier[write.index as usize * row..][RELEASE * width..row],
            false => self.release_clock(write),
        };
        let strength = self.strength_of(id, node);
        own[RELEASE * width..].fill(0);
        match node.kind {
            NodeKind::Read { .. } | NodeKind::ReadForUpdate { .. } => {
                let Some(source) = node.source else { return };
                join(&mut own[ACQUIRABLE * width..][..width], of(source));
                if strength.acquires() {
                    join(&mut own[HB * width..][..width], of(source));
                }
            }
            NodeKind::Completion { object } => {
                let log = self.object(object);
                let earlier = ..node.value as usize;
                let before = &mut own[HB * width..][..width];
                for clock in log.synchronizations[node.value as usize].acquires() {
                    let completions = log.completions[earlier].iter();
                    let synchronizations = log.synchronizations[earlier].iter();
                    let releases = |(_, one): &(_, &Synchronization)| one.releases() == Some(clock);
                    for (&from, _) in completions.zip(synchronizations).filter(releases) {
                        if from.thread != id.thread {
                            join(before, self.hb(from));
                        }
                    }
                }
            }
            NodeKind::Fence => {
                let (before, rest) = own[HB * width..].split_at_mut(width);
                let (acquirable, rest) = rest.split_at_mut(width);
                if strength.acquires() {
                    join(before, acquirable);
                }
                if strength.releases() {
                    rest[..width].copy_from_slice(before);
                }
            }
            kind if kind.writes().is_some() => {
                let clock = if strength.releases() { HB } else { FENCE };
                own.copy_within(clock * width..(clock + 1) * width, RELEASE * width);
                if let NodeKind::WriteOfUpdate { .. } = kind {
                    let read = EventId {
                        index: id.index - 1,
                        ..id
                    };
                    if let Some(source) = self.node(read).source {
                        join(&mut own[RELEASE * width..], of(source));
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the ordering that an event has, given the value that it read.
    pub(crate) fn strength_of(&self, id: EventId, node: &Node) -> Strength {
        match node.kind {
            NodeKind::End { .. } | NodeKind::HangUp { .. } => Strength::of(Ordering::Release),
            NodeKind::WriteOfUpdate { .. } => {
                let read = EventId {
                    index: id.index - 1,
                    ..id
                };
                self.node(read).strength
            }
            NodeKind::ReadForUpdate { location, update } => {
                let old = self.value(location, node.source);
                let fails = node.outcome.fails_spuriously();
                match old.and_then(|old| update.apply(old, fails)) {
                    Some(_) => node.strength,
                    None => node.failure,
                }
            }
            _ => node.strength,
        }
    }

    /// Clears what the last linearization cached per location.
    pub(crate) fn forget_accesses(&mut self) {
        for log in &mut self.locations {
            log.accesses.clear();
            log.known_reads.clear();
        }
    }
}
