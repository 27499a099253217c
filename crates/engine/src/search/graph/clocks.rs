//! What comes before what, as vector clocks.
//!
//! Each event of a graph has two: `causal` (program order, sources, creation and join, the order of
//! completions on one object), which never changes while the event lives, and `before`, which adds
//! coherence and from-reads as one run of the graph shows them. A clock counts, for each thread, how
//! many of its events come before or are the event itself.
//!
//! In a weak graph `before` is what happens before the event (of two completions on one object, only
//! what the one passes on to the other), which is less than `causal` and never changes either, and
//! there are three more: what the thread's reads so far would have passed on to
//! it had they been acquires, what had happened before its last release fence, and what the event, if
//! it is a write, passes on.

use std::sync::atomic::Ordering;

use super::{Graph, Kind, Node};
use crate::base::ids::{EventId, LocationId};
use crate::memory::Strength;
use crate::memory::clock::{covers, join};
use crate::object::passing::Passing;

/// How many clocks an event has.
const CLOCKS: usize = 2;
const WEAK_CLOCKS: usize = 5;
/// Which of them is which, in a weak graph.
const BEFORE: usize = 1;
const COULD_SEE: usize = 2;
const RELEASED: usize = 3;
const PASSED_ON: usize = 4;

impl Graph {
    /// How many reads of the location, from the first inserted, the write depends on. Remembered
    /// while a graph is extended, because what a thread depends on only grows.
    pub(crate) fn known_reads(&mut self, location: LocationId, write: EventId) -> usize {
        let row = self.row();
        let line = &self.lines[write.thread.index()];
        let prefix = &line.clocks[write.index as usize * row..][..self.width];
        let cell = &mut self.cells[location.index()];
        cell.known_reads.resize(self.width, 0);
        let known = &mut cell.known_reads[write.thread.index()];
        let further = cell.reads[*known as usize..].iter();
        *known += further.take_while(|&&read| covers(prefix, read)).count() as u32;
        *known as usize
    }

    pub(crate) fn causal(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[..self.width]
    }

    pub(crate) fn before(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[self.width..2 * self.width]
    }

    /// What a write passes on in a weak graph.
    fn passed_on(&self, id: EventId) -> &[u32] {
        &self.clocks(id)[PASSED_ON * self.width..]
    }

    /// Entries of all the clocks of an event.
    #[inline]
    pub(crate) fn row(&self) -> usize {
        match self.weak {
            true => WEAK_CLOCKS * self.width,
            false => CLOCKS * self.width,
        }
    }

    /// All clocks of an event, one behind the other.
    fn clocks(&self, id: EventId) -> &[u32] {
        let row = self.row();
        &self.lines[id.thread.index()].clocks[id.index as usize * row..][..row]
    }

    /// Makes room for more threads in every clock.
    pub(crate) fn widen(&mut self) {
        let (old, new) = (self.width, self.width * 2);
        let relay = |clocks: &mut Vec<u32>| {
            let mut wide = vec![0; clocks.len() / old * new];
            for (clock, from) in wide.chunks_exact_mut(new).zip(clocks.chunks_exact(old)) {
                clock[..old].copy_from_slice(from);
            }
            *clocks = wide;
        };
        for line in &mut self.lines {
            relay(&mut line.clocks);
        }
        for cell in &mut self.cells {
            relay(&mut cell.accesses);
        }
        self.width = new;
    }

    /// Gives an event its clocks, from what comes before it. Its predecessors have theirs.
    pub(crate) fn set_clocks(&mut self, id: EventId) {
        let (width, row) = (self.width, self.row());
        let start = id.index as usize * row;
        let node = *self.node(id);
        let mine = id.thread.index();
        let mut clocks = std::mem::take(&mut self.lines[mine].clocks);
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
            Kind::Begin => self.lines[mine].spawned_by,
            Kind::Join { target } => self.end_of(target),
            Kind::Completion { object } => {
                let earlier = (node.value as usize).checked_sub(1);
                earlier.map(|position| self.machine(object).completions[position])
            }
            Kind::Send { .. } | Kind::Meet { .. } => None,
            Kind::Met { barrier } if node.source.is_none() => {
                let earlier = (node.value as usize).checked_sub(1);
                earlier.map(|position| self.machine(barrier).completions[position])
            }
            _ => node.source,
        };
        // In a weak graph these are only ordered by what they pass on.
        let is_passing = match node.kind {
            Kind::Completion { .. } | Kind::Silent { .. } => true,
            Kind::Met { .. } => node.source.is_none(),
            kind => kind.reads().is_some(),
        };
        // An event of the same thread comes before anyway, and its clocks are on loan here.
        if let Some(from) = comes_from.filter(|from| from.thread != id.thread) {
            let clocks = if self.weak && is_passing { 1 } else { CLOCKS };
            join(&mut own[..clocks * width], self.clocks(from));
        }
        if let Kind::Met { .. } = node.kind
            && node.source.is_none()
        {
            for member in self.members(id).filter(|one| one.thread != id.thread) {
                join(&mut own[..CLOCKS * width], self.clocks(member));
            }
        }
        if let Kind::Receive { ports, wait: true } = node.kind
            && node.source.is_none()
        {
            for hang_up in self.hang_ups(ports).filter(|one| one.thread != id.thread) {
                join(&mut own[..CLOCKS * width], self.clocks(hang_up));
            }
        }
        if self.weak {
            self.pass_on(id, &node, &mut clocks);
            self.lines[mine].clocks = clocks;
            return;
        }
        let is_end = matches!(node.kind, Kind::End { .. });
        let touched = node.kind.reads().or(node.kind.writes());
        // An end that nobody asks about is nobody's concern.
        let touched = touched.filter(|&location| !is_end || !self.cell(location).reads.is_empty());
        if let Some(location) = touched {
            let accesses = &mut self.cells[location.index()].accesses;
            accesses.resize(width, 0);
            let before = &mut own[width..];
            if node.kind.writes().is_some() {
                join(before, accesses);
            }
            join(accesses, before);
        }
        self.lines[mine].clocks = clocks;
    }

    /// Finds what every event depends on, in a graph of which nothing is known but its events. What
    /// comes before an event for other reasons is found when the graph is put in a line.
    pub(crate) fn find_clocks(&mut self) {
        let row = self.row();
        for line in &mut self.lines {
            line.clocks = vec![0; line.nodes.len() * row];
        }
        // A receive may have been inserted before its source: until nothing new is learnt.
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

    /// In a weak graph: what a read takes over, what a fence adds, and what a write passes on. The
    /// clocks of the event's thread are on loan.
    fn pass_on(&self, id: EventId, node: &Node, clocks: &mut [u32]) {
        let (width, row) = (self.width, self.row());
        let start = id.index as usize * row;
        let (earlier, own) = clocks.split_at_mut(start);
        let own = &mut own[..row];
        let of = |write: EventId| match write.thread == id.thread {
            true => &earlier[write.index as usize * row..][PASSED_ON * width..row],
            false => self.passed_on(write),
        };
        let strength = self.strength_of(id, node);
        own[PASSED_ON * width..].fill(0);
        match node.kind {
            Kind::Read { .. } | Kind::ReadForUpdate { .. } => {
                let Some(source) = node.source else { return };
                join(&mut own[COULD_SEE * width..][..width], of(source));
                if strength.acquires() {
                    join(&mut own[BEFORE * width..][..width], of(source));
                }
            }
            Kind::Completion { object } => {
                let machine = self.machine(object);
                let earlier = ..node.value as usize;
                let before = &mut own[BEFORE * width..][..width];
                for lane in machine.passings[node.value as usize].takes() {
                    let completions = machine.completions[earlier].iter();
                    let passings = machine.passings[earlier].iter();
                    let gives = |(_, passing): &(_, &Passing)| passing.gives() == Some(lane);
                    for (&from, _) in completions.zip(passings).filter(gives) {
                        if from.thread != id.thread {
                            join(before, self.before(from));
                        }
                    }
                }
            }
            Kind::Fence => {
                let (before, rest) = own[BEFORE * width..].split_at_mut(width);
                let (could_see, rest) = rest.split_at_mut(width);
                if strength.acquires() {
                    join(before, could_see);
                }
                if strength.releases() {
                    rest[..width].copy_from_slice(before);
                }
            }
            kind if kind.writes().is_some() => {
                let clock = if strength.releases() {
                    BEFORE
                } else {
                    RELEASED
                };
                own.copy_within(clock * width..(clock + 1) * width, PASSED_ON * width);
                if let Kind::WriteOfUpdate { .. } = kind {
                    let read = EventId {
                        index: id.index - 1,
                        ..id
                    };
                    if let Some(source) = self.node(read).source {
                        join(&mut own[PASSED_ON * width..], of(source));
                    }
                }
            }
            _ => {}
        }
    }

    /// What an event does besides reading and writing.
    pub(crate) fn strength_of(&self, id: EventId, node: &Node) -> Strength {
        match node.kind {
            Kind::End { .. } | Kind::HangUp { .. } => Strength::of(Ordering::Release),
            Kind::WriteOfUpdate { .. } => {
                let read = EventId {
                    index: id.index - 1,
                    ..id
                };
                self.node(read).strength
            }
            Kind::ReadForUpdate { location, update } => {
                let old = self.value(location, node.source);
                match update.apply(old, node.outcome) {
                    Some(_) => node.strength,
                    None => node.failure,
                }
            }
            _ => node.strength,
        }
    }

    /// Forgets what is known of the locations from the last time the graph was put in a line.
    pub(crate) fn forget_accesses(&mut self) {
        for cell in &mut self.cells {
            cell.accesses.clear();
            cell.known_reads.clear();
        }
    }
}
