//! Vector clocks of the events of a graph.
//!
//! Each event has two. `causal` covers program order, reads-from, spawn and join, and the
//! completion order of each object; it never changes while the event exists. `hb` adds coherence
//! and from-reads, in the order of one linearization of the graph. A clock counts, for each thread,
//! the events that precede the event or are it.
//!
//! In a weak graph `hb` is happens-before, where of two completions on one object only those that
//! synchronize are ordered. It is smaller than `causal` and never changes either; the rules are those of
//! `memory::happens_before`. There are three more clocks: `ACQUIRABLE`, which the next acquire fence of
//! the thread acquires; `FENCE`, `hb` of its last release fence; and `RELEASE`, the release clock of a
//! write.

use super::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, LocationId, ObjectId};
use crate::memory::clock::{covers, join, widen};
use crate::memory::happens_before::{
    AccessClocks, EventClocks, Released, Strength, call, fence, load, store, synchronizes_with,
};
use crate::object::synchronization::SyncClock;

/// Number of clocks of an event.
const CLOCKS: usize = 2;
const WEAK_CLOCKS: usize = 5;
/// Index of each clock in a weak graph.
const HB: usize = 1;
const ACQUIRABLE: usize = 2;
const FENCE: usize = 3;
const RELEASE: usize = 4;

impl Graph {
    /// Returns the number of reads of the location, from the first inserted, that the write
    /// causally depends on. Cached while a graph is extended, because the causal past of a thread
    /// only grows.
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

    /// Returns the number of entries of all clocks of an event.
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
        for log in &mut self.threads {
            widen(&mut log.clocks, old, new);
        }
        for log in &mut self.locations {
            widen(&mut log.accesses, old, new);
        }
        self.width = new;
    }

    /// Sets the clocks of an event. The clocks of its predecessors must be set.
    pub(crate) fn set_clocks(&mut self, id: EventId) {
        let (width, row) = (self.width, self.row());
        let start = id.index as usize * row;
        let Node {
            kind,
            source,
            value,
            ..
        } = *self.node(id);
        let mine = id.thread.index();
        let mut clocks = std::mem::take(&mut self.threads[mine].clocks);
        let is_new = clocks.len() < start + row;
        match start.checked_sub(row) {
            Some(previous) if is_new => {
                clocks.truncate(start);
                clocks.extend_from_within(previous..start);
            }
            Some(previous) => clocks.copy_within(previous..start, start),
            None if is_new => clocks.resize(row, 0),
            None => clocks[..row].fill(0),
        }
        let own = &mut clocks[start..start + row];
        own[mine] = id.index + 1;
        own[width + mine] = id.index + 1;
        let comes_from = match kind {
            NodeKind::Begin => self.threads[mine].spawned_by,
            NodeKind::Join { target } => self.end_of(target),
            NodeKind::Completion { object } => {
                let earlier = (value as usize).checked_sub(1);
                earlier.map(|position| self.object(object).completions[position])
            }
            NodeKind::Send { .. } | NodeKind::Arrive { .. } => None,
            NodeKind::Pass { barrier } if source.is_none() => {
                let earlier = (value as usize).checked_sub(1);
                earlier.map(|position| self.object(barrier).completions[position])
            }
            _ => source,
        };
        // Events of the same thread precede it anyway, and their clocks are moved out here.
        let clocks_of = if self.weak { 1 } else { CLOCKS };
        let mut depends_on = |from: EventId| {
            if from.thread != id.thread {
                join(&mut own[..clocks_of * width], self.clocks(from));
            }
        };
        if let Some(from) = comes_from {
            depends_on(from);
        }
        match kind {
            NodeKind::Pass { .. } if source.is_none() => {
                self.members(id).for_each(&mut depends_on);
            }
            NodeKind::Receive { ports, wait: true } if source.is_none() => {
                self.hang_ups(ports).for_each(&mut depends_on);
            }
            _ => {}
        }
        if self.weak {
            self.synchronize(id, &mut clocks);
            self.threads[mine].clocks = clocks;
            return;
        }
        if let Some(location) = self.touched(kind) {
            let accesses = &mut self.locations[location.index()].accesses;
            let before = &mut own[width..];
            if accesses.is_empty() {
                accesses.extend_from_slice(before);
            } else {
                if kind.writes().is_some() {
                    join(before, accesses);
                }
                join(accesses, before);
            }
        }
        self.threads[mine].clocks = clocks;
    }

    /// Returns the location whose accesses the event is one of, in a graph that is not weak.
    fn touched(&self, kind: NodeKind) -> Option<LocationId> {
        let is_end = matches!(kind, NodeKind::End { .. });
        let touched = kind.reads().or(kind.writes());
        // The end of a thread matters only if some event reads it.
        touched.filter(|&location| !is_end || !self.location(location).reads.is_empty())
    }

    /// Adds an event whose clocks are set to the accesses of its location.
    pub(super) fn add_access(&mut self, id: EventId) {
        if self.weak {
            return;
        }
        let (width, row) = (self.width, self.row());
        if let Some(location) = self.touched(self.node(id).kind) {
            let clocks = &self.threads[id.thread.index()].clocks;
            let before = &clocks[id.index as usize * row..][width..row];
            let accesses = &mut self.locations[location.index()].accesses;
            match accesses.is_empty() {
                true => accesses.extend_from_slice(before),
                false => {
                    join(accesses, before);
                }
            }
        }
    }

    /// Sets the clocks of all events of a graph that was just read from text. Unless the graph is weak, linearization
    /// sets the `hb` clocks.
    pub(crate) fn find_clocks(&mut self) {
        let row = self.row();
        for log in &mut self.threads {
            log.clocks = vec![0; log.nodes.len() * row];
        }
        // A receive may be inserted before its source, so this iterates to a fixpoint. In a weak graph, `causal` may be
        // complete before the other clocks are.
        let compared = if self.weak { row } else { self.width };
        let mut known: Vec<u32> = Vec::new();
        let mut learns = true;
        while std::mem::take(&mut learns) {
            for position in 0..self.order.len() {
                let id = self.order[position];
                known.clear();
                known.extend_from_slice(&self.clocks(id)[..compared]);
                self.set_clocks(id);
                learns |= known != self.clocks(id)[..compared];
            }
        }
        self.forget_accesses();
    }

    /// Applies the rules of happens-before to an event of a weak graph. `clocks` are those of its
    /// thread, moved out of the graph.
    fn synchronize(&self, id: EventId, clocks: &mut [u32]) {
        let (row, node) = (self.row(), self.node(id));
        let (earlier, own) = clocks.split_at_mut(id.index as usize * row);
        let clocks = &mut NodeClocks {
            graph: self,
            id,
            earlier,
            own: &mut own[..row],
        };
        clocks.of(RELEASE).fill(0);
        let strength = self.strength_of(id, node);
        match node.kind {
            NodeKind::Read { .. } | NodeKind::ReadForUpdate { .. } => {
                if let Some(source) = node.source {
                    load(clocks, source, strength);
                }
            }
            NodeKind::Write { .. } | NodeKind::HangUp { .. } | NodeKind::End { .. } => {
                store(clocks, id, strength, None);
            }
            NodeKind::WriteOfUpdate { .. } => {
                store(clocks, id, strength, self.node(read_of(id)).source);
            }
            NodeKind::Fence => fence(clocks, strength),
            NodeKind::Completion { object } => {
                let position = node.value as usize;
                call(
                    clocks,
                    object,
                    self.object(object).synchronizations[position],
                );
            }
            NodeKind::Begin => {
                synchronizes_with(clocks, self.threads[id.thread.index()].spawned_by);
            }
            NodeKind::Join { target } => synchronizes_with(clocks, self.end_of(target)),
            NodeKind::Pass { .. } if node.source.is_none() => {
                synchronizes_with(clocks, self.members(id));
            }
            NodeKind::Receive { ports, wait: true } if node.source.is_none() => {
                synchronizes_with(clocks, self.hang_ups(ports));
            }
            NodeKind::Receive { .. }
            | NodeKind::Delivered { .. }
            | NodeKind::Pass { .. }
            | NodeKind::AskLeader { .. } => synchronizes_with(clocks, node.source),
            NodeKind::Spawn { .. }
            | NodeKind::Local
            | NodeKind::LeftOut
            | NodeKind::Choose { .. }
            | NodeKind::Send { .. }
            | NodeKind::Arrive { .. }
            | NodeKind::Call { .. }
            | NodeKind::Silent { .. } => {}
        }
    }

    /// Returns the ordering that an event has, given the value that it read.
    pub(crate) fn strength_of(&self, id: EventId, node: &Node) -> Strength {
        match node.kind {
            NodeKind::End { .. } | NodeKind::HangUp { .. } => Strength::RELEASE,
            NodeKind::WriteOfUpdate { .. } => self.node(read_of(id)).strength,
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

    /// Clears the data per location that the last linearization cached.
    pub(crate) fn forget_accesses(&mut self) {
        for log in &mut self.locations {
            log.accesses.clear();
            log.known_reads.clear();
        }
    }
}

/// Returns the read of an update, given its write.
fn read_of(write: EventId) -> EventId {
    EventId {
        index: write.index - 1,
        ..write
    }
}

/// The clocks of one event in a weak graph. The rules change nothing else, so undoing an event needs no
/// other change.
struct NodeClocks<'a> {
    graph: &'a Graph,
    id: EventId,
    /// Clocks of the earlier events of its thread, moved out of the graph.
    earlier: &'a [u32],
    own: &'a mut [u32],
}

impl NodeClocks<'_> {
    /// Returns one of the event's own clocks.
    fn of(&mut self, clock: usize) -> &mut [u32] {
        let width = self.graph.width;
        &mut self.own[clock * width..][..width]
    }

    /// Joins the release clock of a write into one of the event's own.
    #[inline]
    fn join_release_clock(&mut self, into: usize, write: EventId) {
        let (width, row) = (self.graph.width, self.graph.row());
        let release_clock = match write.thread == self.id.thread {
            true => &self.earlier[write.index as usize * row..][RELEASE * width..row],
            false => self.graph.release_clock(write),
        };
        join(&mut self.own[into * width..][..width], release_clock);
    }
}

impl AccessClocks for NodeClocks<'_> {
    type Write = EventId;

    #[inline]
    fn acquire(&mut self, write: EventId) {
        self.join_release_clock(HB, write);
    }

    #[inline]
    fn defer(&mut self, write: EventId) {
        self.join_release_clock(ACQUIRABLE, write);
    }

    fn acquire_deferred(&mut self) {
        let (hb, acquirable) = self.own[HB * self.graph.width..].split_at_mut(self.graph.width);
        join(hb, acquirable);
    }

    /// The event is included in its own clocks from the start.
    fn complete(&mut self) {}

    #[inline]
    fn release(&mut self, _write: EventId, released: Released, continued: Option<EventId>) {
        let width = self.graph.width;
        let released = match released {
            Released::Hb => HB,
            Released::Fence => FENCE,
        };
        let released = released * width..(released + 1) * width;
        self.own.copy_within(released, RELEASE * width);
        if let Some(continued) = continued {
            self.join_release_clock(RELEASE, continued);
        }
    }

    fn release_at_fence(&mut self) {
        let width = self.graph.width;
        self.own
            .copy_within(HB * width..(HB + 1) * width, FENCE * width);
    }
}

impl EventClocks for NodeClocks<'_> {
    fn event(&self) -> EventId {
        self.id
    }

    fn acquire_event(&mut self, event: EventId) {
        let hb = self.graph.hb(event);
        join(self.of(HB), hb);
    }

    /// Joins `hb` of all earlier completions that release to the clock. The joined clock is not
    /// stored, because completions are undone.
    fn acquire_object(&mut self, object: ObjectId, clock: SyncClock) {
        let graph = self.graph;
        let log = graph.object(object);
        let earlier = ..graph.node(self.id).value as usize;
        let completions = log.completions[earlier].iter();
        for (&from, synchronization) in completions.zip(&log.synchronizations[earlier]) {
            if synchronization.releases() == Some(clock) && from.thread != self.id.thread {
                self.acquire_event(from);
            }
        }
    }

    fn release_object(&mut self, _object: ObjectId, _clock: SyncClock) {}
}
