//! Happens-before of a running execution, and which writes a thread may still read.
//!
//! Every thread has a vector clock of the events that happen before its next one. A release write
//! leaves that clock with its value, an acquire read adds the clock left by its source, and fences do
//! the same for the relaxed accesses around them. An update passes on the clock left by its source:
//! the release sequence. A read may take any write that coherence allows (`coherence.rs`), and a write
//! may stand behind any of those. What `SeqCst` asks besides is in `psc.rs`.
//!
//! Calls of locks and other objects synchronize as their
//! [`Synchronization`](crate::object::synchronization::Synchronization) says.
//!
//! All this is only kept while it matters: see [`Views::is_on`].

use std::cell::RefCell;

use super::Strength;
use super::clock::{join, row, widen};
use super::coherence::{Coherence, Known, Write};
use super::psc::{Psc, Touch};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::Object;
use crate::object::barrier::Barrier;

/// Clocks of the present execution, and the coherence of its locations.
#[derive(Debug, Default)]
pub(crate) struct Views {
    on: bool,
    threads: Vec<View>,
    /// Number of threads; the other elements of `threads` are kept for their memory.
    live: usize,
    locations: Vec<Coherence>,
    events: EventClocks,
    /// By port, the joined clocks of the threads that hung up.
    closed: Vec<Vec<u32>>,
    /// By object, the clocks that it synchronizes through, one after the other.
    object_clocks: Vec<Vec<u32>>,
    /// Groups that met at a barrier: the name of the group, and the joined clocks of its members.
    meetings: Vec<(EventId, Vec<u32>)>,
    psc: RefCell<Psc>,
    /// True once there was a `SeqCst` access or fence.
    seq_cst: bool,
}

/// Clocks of one thread.
#[derive(Debug, Default)]
struct View {
    /// Events that happen before its next one.
    hb: Vec<u32>,
    /// Changes whenever `hb` includes more events of other threads; see [`Known`].
    version: u32,
    /// Release clocks of all writes it has read: what its next acquire fence adds to `hb`.
    acquirable: Vec<u32>,
    /// Clock of its last release fence, the fence included; zero before the first.
    fence: Vec<u32>,
    has_fence: bool,
}

impl View {
    fn reset(&mut self, width: usize) {
        for clock in [&mut self.hb, &mut self.acquirable, &mut self.fence] {
            clock.clear();
            clock.resize(width, 0);
        }
        self.version = 1;
        self.has_fence = false;
    }

    /// Adds the events of another thread's clock.
    #[inline]
    fn learn(&mut self, clock: &[u32]) {
        join(&mut self.hb, clock);
        self.version += 1;
    }

    /// Takes the release clock of a source, at once or for the next acquire fence.
    #[inline]
    fn read(&mut self, release: &[u32], strength: Strength) {
        if release.is_empty() {
            return;
        }
        join(&mut self.acquirable, release);
        if strength.acquires() {
            self.learn(release);
        }
    }

    /// Clock that a write of this strength releases, if there is one.
    #[inline]
    fn released(&self, strength: Strength) -> Option<&[u32]> {
        match strength.releases() {
            true => Some(&self.hb),
            false => self.has_fence.then_some(&self.fence),
        }
    }

    #[inline]
    fn known(&self) -> Known<'_> {
        Known {
            clock: &self.hb,
            version: self.version,
        }
    }
}

/// Clocks of the performed events. A *position* is the number of an event in the order of the run.
#[derive(Debug, Default)]
struct EventClocks {
    /// Entries of a clock; at least the number of threads.
    width: usize,
    /// By thread and by index of the event in its thread.
    positions: Vec<Vec<u32>>,
    /// By position: the events that happen before, and the event itself.
    hb: Vec<u32>,
    /// By position: which row of `release` the event left with its value, or `NO_RELEASE`.
    release_rows: Vec<u32>,
    /// Release clocks: what an acquire read of a write synchronizes with. Only writes that release
    /// something have a row, and those that merely continue a release sequence share its row.
    release: Vec<u32>,
}

const NO_RELEASE: u32 = u32::MAX;

impl EventClocks {
    fn clear(&mut self) {
        self.width = self.width.max(4);
        self.hb.clear();
        self.release_rows.clear();
        self.release.clear();
    }

    #[inline]
    fn position(&self, event: EventId) -> usize {
        self.positions[event.thread.index()][event.index as usize] as usize
    }

    #[inline]
    fn hb(&self, event: EventId) -> &[u32] {
        &self.hb[self.position(event) * self.width..][..self.width]
    }

    /// The release clock of a write; empty if it releases nothing.
    #[inline]
    fn release(&self, write: EventId) -> &[u32] {
        match self.release_rows[self.position(write)] {
            NO_RELEASE => &[],
            row => &self.release[row as usize * self.width..][..self.width],
        }
    }

    /// Adds an event with its clock. Its release clock is `released`, joined with that of the write
    /// whose release sequence it continues.
    #[inline]
    fn push(
        &mut self,
        event: EventId,
        hb: &[u32],
        released: Option<&[u32]>,
        continued: Option<EventId>,
    ) {
        let continued = continued.map_or(NO_RELEASE, |it| self.release_rows[self.position(it)]);
        let mut row = continued;
        if let Some(released) = released {
            let start = self.release.len();
            row = (start / self.width) as u32;
            self.release.extend_from_slice(released);
            if continued != NO_RELEASE {
                let (before, own) = self.release.split_at_mut(start);
                join(
                    own,
                    &before[continued as usize * self.width..][..self.width],
                );
            }
        }
        self.positions[event.thread.index()].push(self.release_rows.len() as u32);
        self.hb.extend_from_slice(hb);
        self.release_rows.push(row);
    }
}

impl Views {
    /// True when clocks and coherence are kept.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Forgets the last execution; from now on everything is kept, or nothing.
    pub(crate) fn reset(&mut self, on: bool) {
        self.on = on;
        if !on {
            return;
        }
        self.live = 0;
        self.events.clear();
        self.meetings.clear();
        self.closed.iter_mut().for_each(Vec::clear);
        self.object_clocks.iter_mut().for_each(Vec::clear);
        self.locations.iter_mut().for_each(Coherence::clear);
        self.seq_cst = false;
    }

    /// Clocks of an execution that has ended. It has no writes, so that [`Views::reach`] and all that
    /// depends on coherence must not be asked.
    pub(crate) fn of(execution: &Execution) -> Self {
        let mut views = Views::default();
        views.reset(true);
        execution.threads.iter().for_each(|_| views.add_thread());
        for index in 0..execution.locations.len() {
            views.add_location(LocationId::new(index), 0);
        }
        for event in &execution.events {
            views.record(event, execution);
        }
        views
    }

    pub(crate) fn add_thread(&mut self) {
        if !self.on {
            return;
        }
        if self.live == self.threads.len() {
            self.threads.push(View::default());
            self.events.positions.push(Vec::new());
        }
        if self.live == self.events.width {
            self.double_width();
        }
        self.threads[self.live].reset(self.events.width);
        self.events.positions[self.live].clear();
        self.live += 1;
    }

    #[cold]
    fn double_width(&mut self) {
        let (old, new) = (self.events.width, self.events.width * 2);
        widen(&mut self.events.hb, old, new);
        widen(&mut self.events.release, old, new);
        for view in &mut self.threads {
            for clock in [&mut view.hb, &mut view.acquirable, &mut view.fence] {
                clock.resize(new, 0);
            }
        }
        let closed = self.closed.iter_mut();
        self.object_clocks
            .iter_mut()
            .for_each(|object_clocks| widen(object_clocks, old, new));
        let meetings = self.meetings.iter_mut().map(|(_, clock)| clock);
        for clock in closed.chain(meetings) {
            if !clock.is_empty() {
                clock.resize(new, 0);
            }
        }
        self.events.width = new;
    }

    pub(crate) fn add_location(&mut self, location: LocationId, initial: u64) {
        if !self.on {
            return;
        }
        if self.locations.len() <= location.index() {
            self.locations
                .resize_with(location.index() + 1, Coherence::default);
        }
        self.locations[location.index()].initial = initial;
    }

    /// Events that happen before the thread's next one.
    pub(crate) fn hb(&self, thread: ThreadId) -> &[u32] {
        &self.threads[thread.index()].hb
    }

    /// Position of a performed event in the order of the run.
    pub(crate) fn position(&self, event: EventId) -> usize {
        self.events.position(event)
    }

    /// Events that happen before a performed event, and the event itself.
    pub(crate) fn clock(&self, event: EventId) -> &[u32] {
        self.events.hb(event)
    }

    /// Number of writes that the thread's next read of the location may take, the initial value counted
    /// as one; they are the last in coherence order. Also the number of places for its next write.
    pub(crate) fn reach(&self, thread: ThreadId, location: LocationId) -> u32 {
        let coherence = &self.locations[location.index()];
        let known = self.threads[thread.index()].known();
        coherence.top() - coherence.floor(thread, known) + 1
    }

    /// True when an update by the thread can only follow the coherence-last write.
    pub(crate) fn must_append(&self, thread: ThreadId, location: LocationId) -> bool {
        let known = self.threads[thread.index()].known();
        self.locations[location.index()].must_append(thread, known)
    }

    /// The write that is `back` writes before the coherence-last, and its value.
    pub(crate) fn source(&self, location: LocationId, back: u32) -> (Option<EventId>, u64) {
        let coherence = &self.locations[location.index()];
        match coherence.write(coherence.top() - back) {
            Some(write) => (Some(write.id), write.value),
            None => (None, coherence.initial),
        }
    }

    /// True when a write may stand directly behind the one that is `back` writes before the last: not
    /// between an update and its source.
    pub(crate) fn may_place(&self, location: LocationId, back: u32) -> bool {
        let coherence = &self.locations[location.index()];
        let next = coherence.write(coherence.top() - back + 1);
        next.is_none_or(|next| !next.update)
    }

    /// Puts a write directly behind the one that is `back` writes before the last; returns the
    /// neighbours before and behind it.
    pub(crate) fn place(
        &mut self,
        location: LocationId,
        back: u32,
        id: EventId,
        value: u64,
        update: bool,
    ) -> (Option<EventId>, Option<EventId>) {
        let coherence = &mut self.locations[location.index()];
        let behind = coherence.top() - back;
        coherence.insert(behind, Write { id, value, update })
    }

    /// Joins the clocks of a group that meets at a barrier, when the first of its members leaves.
    fn meet(&mut self, barrier: &Barrier, event: &Event) {
        let (name, members) = barrier.group_left_by(event.id, event.source);
        if self.meetings.iter().any(|(known, _)| *known == name) {
            return;
        }
        let mut clock = vec![0; self.events.width];
        for member in members {
            join(&mut clock, self.hb(member));
            // The event with which it leaves the barrier is included.
            clock[member.index()] = self.hb(member)[member.index()] + 1;
        }
        self.meetings.push((name, clock));
    }

    /// Updates clocks and coherence for an event that has just been performed.
    pub(crate) fn record(&mut self, event: &Event, execution: &Execution) {
        if let Operation::Meet { barrier } = event.operation
            && let Object::Barrier(barrier) = &execution.objects[barrier.index()]
        {
            self.meet(barrier, event);
        }
        let Views {
            threads,
            locations,
            events,
            closed,
            object_clocks,
            meetings,
            seq_cst,
            ..
        } = self;
        let width = events.width;
        let mine = event.id.thread.index();
        let view = &mut threads[mine];
        let release_of = |source: Option<EventId>| source.map_or(&[][..], |it| events.release(it));
        // The strength of the event if it writes, and the write whose release sequence it continues.
        let mut write = None;
        match event.operation {
            Operation::Load {
                location, ordering, ..
            } => {
                let strength = Strength::of(ordering);
                *seq_cst |= strength.is_seq_cst();
                locations[location.index()].record(event.id, event.back());
                view.read(release_of(event.source), strength);
            }
            Operation::Update {
                location,
                ordering,
                failure,
                update,
            } => {
                let new = update.apply(event.reply.to_value(), event.outcome.fails_spuriously());
                let strength = Strength::of(if new.is_some() { ordering } else { failure });
                *seq_cst |= strength.is_seq_cst();
                locations[location.index()].record(event.id, event.back());
                view.read(release_of(event.source), strength);
                write = new.map(|_| (strength, event.source));
            }
            Operation::Store {
                location, ordering, ..
            } => {
                let strength = Strength::of(ordering);
                *seq_cst |= strength.is_seq_cst();
                locations[location.index()].record(event.id, event.back());
                write = Some((strength, None));
            }
            Operation::HangUp { port, location } => {
                locations[location.index()].record(event.id, event.back());
                write = Some((Strength::of(std::sync::atomic::Ordering::Release), None));
                if closed.len() <= port.index() {
                    closed.resize_with(port.index() + 1, Vec::new);
                }
                let closed = &mut closed[port.index()];
                closed.resize(width, 0);
                join(closed, &view.hb);
                closed[mine] = closed[mine].max(event.id.index + 1);
            }
            Operation::Fence { ordering } => {
                let strength = Strength::of(ordering);
                *seq_cst |= strength.is_seq_cst();
                if strength.acquires() {
                    join(&mut view.hb, &view.acquirable);
                    view.version += 1;
                }
                if strength.releases() {
                    view.fence.copy_from_slice(&view.hb);
                    view.fence[mine] = event.id.index + 1;
                    view.has_fence = true;
                }
            }
            Operation::Meet { .. } => {
                let of = |name| meetings.iter().rfind(|(known, _)| *known == name);
                let meeting = of(event.id).or_else(|| of(event.source?));
                if let Some((_, clock)) = meeting {
                    view.learn(clock);
                }
            }
            Operation::Receive { ports, .. } => match event.source {
                Some(send) if send.thread == event.id.thread => {}
                Some(send) => view.learn(events.hb(send)),
                None => {
                    if let crate::model::operation::Ports::One(port) = ports
                        && let Some(closed) = closed.get(port.index())
                    {
                        view.learn(closed);
                    }
                }
            },
            Operation::Call { object, call } => {
                let synchronization =
                    execution.objects[object.index()].synchronization(call, event.reply);
                if object_clocks.len() <= object.index() {
                    object_clocks.resize_with(object.index() + 1, Vec::new);
                }
                let object_clocks = &mut object_clocks[object.index()];
                for clock in synchronization.acquires() {
                    if let Some(clock) = object_clocks.get(clock as usize * width..) {
                        view.learn(clock);
                    }
                }
                if let Some(clock) = synchronization.releases() {
                    view.hb[mine] = event.id.index + 1;
                    join(row(object_clocks, clock as usize, width), &view.hb);
                }
            }
            Operation::Send { .. } | Operation::Leads { .. } => {}
            _ => {
                if let Some(source) = event.source.filter(|it| it.thread != event.id.thread) {
                    view.learn(events.hb(source));
                }
            }
        }
        view.hb[mine] = event.id.index + 1;
        let released = write.and_then(|(strength, _)| view.released(strength));
        let continued = write.and_then(|(_, source)| source);
        events.push(event.id, &view.hb, released, continued);
    }

    /// True when what `SeqCst` asks (`psc.rs`) still holds if the thread performs this access with a
    /// source or a place `back` writes before the last.
    pub(crate) fn is_consistent(
        &self,
        execution: &Execution,
        thread: ThreadId,
        operation: &Operation,
        back: u32,
        writes: bool,
    ) -> bool {
        if back == 0 || !self.seq_cst {
            return true;
        }
        let Some(location) = operation.location() else {
            return true;
        };
        let place = self.locations[location.index()].top() - back;
        let pending = self.pending_touch(operation, place, writes);
        let moved = |at: LocationId, position: u32| {
            position + u32::from(writes && at == location && position > place)
        };
        let mut psc = self.psc.borrow_mut();
        psc.clear();
        for index in 0..self.live {
            psc.begin_thread();
            for &position in &self.events.positions[index] {
                let event = &execution.events[position as usize];
                psc.add(self.touch(event, &moved));
            }
            if index == thread.index() {
                psc.add(pending);
            }
        }
        // Clock of the access itself.
        let mut own = self.hb(thread).to_vec();
        let count = self.events.positions[thread.index()].len() as u32;
        if let (Some(source), Operation::Load { .. } | Operation::Update { .. }) =
            (self.source(location, back).0, operation)
            && pending_acquires(operation, writes)
        {
            join(&mut own, self.events.release(source));
        }
        own[thread.index()] = count + 1;
        psc.holds(|of, index| {
            if of as usize == thread.index() && index == count {
                return &own[..];
            }
            let thread = ThreadId::new(of as usize);
            self.events.hb(EventId { thread, index })
        })
    }

    fn pending_touch(&self, operation: &Operation, place: u32, writes: bool) -> Touch {
        let (reads, ordering) = match *operation {
            Operation::Load { ordering, .. } => (true, ordering),
            Operation::Store { ordering, .. } => (false, ordering),
            Operation::Update {
                ordering, failure, ..
            } => (true, if writes { ordering } else { failure }),
            _ => (false, std::sync::atomic::Ordering::Relaxed),
        };
        Touch {
            location: operation.location().map(|it| it.index() as u32),
            read: reads.then_some(place),
            written: writes.then_some(place + 1),
            seq_cst: Strength::of(ordering).is_seq_cst(),
            fence: false,
        }
    }

    fn touch(&self, event: &Event, moved: &impl Fn(LocationId, u32) -> u32) -> Touch {
        if let Operation::Fence { ordering } = event.operation {
            return Touch {
                seq_cst: Strength::of(ordering).is_seq_cst(),
                fence: true,
                ..Touch::default()
            };
        }
        let Some(location) = event.operation.location() else {
            return Touch::default();
        };
        let coherence = &self.locations[location.index()];
        let place = |rank: Option<u32>| moved(location, rank.unwrap_or(0));
        let written = coherence.rank(event.id);
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        let own = self.pending_touch(&event.operation, 0, written.is_some());
        Touch {
            read: reads.then(|| place(event.source.and_then(|it| coherence.rank(it)))),
            written: written.map(|rank| place(Some(rank))),
            ..own
        }
    }
}

fn pending_acquires(operation: &Operation, writes: bool) -> bool {
    match *operation {
        Operation::Load { ordering, .. } => Strength::of(ordering).acquires(),
        Operation::Update {
            ordering, failure, ..
        } => Strength::of(if writes { ordering } else { failure }).acquires(),
        _ => false,
    }
}
