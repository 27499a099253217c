//! What each thread of a running execution has seen, and what it may therefore still read.
//!
//! Every thread has a clock of what happens before its next event. A release writes it down with the
//! value, an acquire takes over what came with the value, and fences do the same for the accesses
//! around them; updates pass on what came with the value they replace. Of the writes of a location a
//! thread may read any that is not older, in coherence order, than one it knows: one that happens
//! before, or that something read which happens before. A write may stand anywhere behind those.
//! What `SeqCst` asks besides is looked at in `psc.rs`.
//!
//! Locks and other objects pass on what threads have seen as their calls say
//! ([`Passing`](crate::object::passing::Passing)).
//!
//! All this is only kept while it matters: see [`Views::is_on`].

use std::cell::RefCell;

use super::Strength;
use super::clock::{join, row, widen};
use super::coherence::{Coherence, Known, Write};
use super::psc::{Psc, Touch};
use crate::event::{Event, EventId, LocationId, Operation, ThreadId};
use crate::execution::Execution;
use crate::object::Object;
use crate::object::barrier::Barrier;

/// What threads have seen in the present execution.
#[derive(Debug, Default)]
pub(crate) struct Views {
    on: bool,
    /// Entries of a clock; at least the number of threads.
    width: usize,
    threads: Vec<View>,
    live: usize,
    locations: Vec<Coherence>,
    /// By event in the order of the run: its clock, and if it writes, what it passes on.
    clocks: Vec<u32>,
    messages: Vec<u32>,
    /// By object: what those who hung up had seen.
    closed: Vec<Vec<u32>>,
    /// By object: what is in each of its lanes, one behind the other.
    lanes: Vec<Vec<u32>>,
    /// Groups that met: the name of the meeting, and what its members had seen.
    meetings: Vec<(EventId, Vec<u32>)>,
    psc: RefCell<Psc>,
    seq_cst: bool,
}

/// What one thread has seen.
#[derive(Debug, Default)]
struct View {
    /// What happens before its next event.
    seen: Vec<u32>,
    /// What it would have seen as well, had its reads been acquires.
    could_see: Vec<u32>,
    /// What it had seen at its last release fence.
    released: Vec<u32>,
    /// Changes whenever `seen` includes more events of other threads; see [`Known`].
    version: u32,
    /// By event of the thread: which event of the run it is.
    positions: Vec<u32>,
}

impl View {
    /// Adds the events of another thread's clock.
    #[inline]
    fn learn(&mut self, clock: &[u32]) {
        join(&mut self.seen, clock);
        self.version += 1;
    }

    #[inline]
    fn known(&self) -> Known<'_> {
        Known {
            clock: &self.seen,
            version: self.version,
        }
    }
}

impl Views {
    /// Whether anything is kept.
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
        self.width = self.width.max(4);
        self.live = 0;
        self.clocks.clear();
        self.messages.clear();
        self.meetings.clear();
        self.closed.iter_mut().for_each(Vec::clear);
        self.lanes.iter_mut().for_each(Vec::clear);
        self.locations.iter_mut().for_each(Coherence::clear);
        self.seq_cst = false;
    }

    /// What threads had seen in an execution, of which nothing else is asked: it does not know which
    /// values reads could have taken.
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
        }
        if self.live == self.width {
            self.double_width();
        }
        let view = &mut self.threads[self.live];
        for clock in [&mut view.seen, &mut view.could_see, &mut view.released] {
            clock.clear();
            clock.resize(self.width, 0);
        }
        view.version = 1;
        view.positions.clear();
        self.live += 1;
    }

    #[cold]
    fn double_width(&mut self) {
        let (old, new) = (self.width, self.width * 2);
        widen(&mut self.clocks, old, new);
        widen(&mut self.messages, old, new);
        for view in &mut self.threads {
            for clock in [&mut view.seen, &mut view.could_see, &mut view.released] {
                clock.resize(new, 0);
            }
        }
        let closed = self.closed.iter_mut();
        self.lanes
            .iter_mut()
            .for_each(|lanes| widen(lanes, old, new));
        let meetings = self.meetings.iter_mut().map(|(_, clock)| clock);
        for clock in closed.chain(meetings) {
            if !clock.is_empty() {
                clock.resize(new, 0);
            }
        }
        self.width = new;
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

    /// What a thread has seen.
    pub(crate) fn seen(&self, thread: ThreadId) -> &[u32] {
        &self.threads[thread.index()].seen
    }

    /// Where an event that was performed is in the order of the run.
    pub(crate) fn position(&self, event: EventId) -> usize {
        self.threads[event.thread.index()].positions[event.index as usize] as usize
    }

    /// What happens before an event that was performed, and the event itself.
    pub(crate) fn clock(&self, event: EventId) -> &[u32] {
        &self.clocks[self.position(event) * self.width..][..self.width]
    }

    fn message(&self, write: EventId) -> &[u32] {
        &self.messages[self.position(write) * self.width..][..self.width]
    }

    /// Number of writes that the thread's next read of the location may take, the initial value counted
    /// as one; they are the last in coherence order. Also the number of places for its next write.
    pub(crate) fn reach(&self, thread: ThreadId, location: LocationId) -> u32 {
        let coherence = &self.locations[location.index()];
        let known = self.threads[thread.index()].known();
        coherence.top() - coherence.floor(thread, known) + 1
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

    /// The members of a group meet, unless they have met.
    fn meet(&mut self, barrier: &Barrier, event: &Event) {
        let (name, members) = barrier.group_left_by(event.id, event.source);
        if self.meetings.iter().any(|(known, _)| *known == name) {
            return;
        }
        let mut clock = vec![0; self.width];
        for member in members {
            join(&mut clock, self.seen(member));
            // That it came to the barrier, too.
            clock[member.index()] = self.seen(member)[member.index()] + 1;
        }
        self.meetings.push((name, clock));
    }

    /// Takes note of an event that has just been performed.
    pub(crate) fn record(&mut self, event: &Event, execution: &Execution) {
        if let Operation::Meet { barrier } = event.operation
            && let Object::Barrier(barrier) = &execution.objects[barrier.index()]
        {
            self.meet(barrier, event);
        }
        let width = self.width;
        let mine = event.id.thread.index();
        let mut view = std::mem::take(&mut self.threads[mine]);
        view.positions.push((self.clocks.len() / width) as u32);
        let mut message = None;
        match event.operation {
            Operation::Load {
                location, ordering, ..
            } => self.read(&mut view, event, location, Strength::of(ordering)),
            Operation::Update {
                location,
                ordering,
                failure,
                update,
            } => {
                let writes = update.apply(event.reply.to_value(), event.outcome & 1);
                let ordering = if writes.is_some() { ordering } else { failure };
                let strength = Strength::of(ordering);
                self.read(&mut view, event, location, strength);
                if writes.is_some() {
                    message = Some((strength, event.source));
                }
            }
            Operation::Store {
                location, ordering, ..
            } => {
                self.record_access(event, location);
                message = Some((Strength::of(ordering), None));
            }
            Operation::HangUp { port, location } => {
                self.record_access(event, location);
                message = Some((Strength::of(std::sync::atomic::Ordering::Release), None));
                if self.closed.len() <= port.index() {
                    self.closed.resize_with(port.index() + 1, Vec::new);
                }
                let closed = &mut self.closed[port.index()];
                closed.resize(width, 0);
                join(closed, &view.seen);
                closed[mine] = closed[mine].max(event.id.index + 1);
            }
            Operation::Fence { ordering } => {
                let strength = Strength::of(ordering);
                self.seq_cst |= strength.is_seq_cst();
                if strength.acquires() {
                    join(&mut view.seen, &view.could_see);
                    view.version += 1;
                }
                if strength.releases() {
                    view.released.copy_from_slice(&view.seen);
                    view.released[mine] = event.id.index + 1;
                }
            }
            Operation::Meet { .. } => {
                let of = |name| self.meetings.iter().rfind(|(known, _)| *known == name);
                let meeting = of(event.id).or_else(|| of(event.source?));
                if let Some((_, clock)) = meeting {
                    view.learn(clock);
                }
            }
            Operation::Receive { ports, .. } => match event.source {
                Some(send) if send.thread == event.id.thread => {}
                Some(send) => view.learn(self.clock(send)),
                None => {
                    if let crate::event::Ports::One(port) = ports
                        && let Some(closed) = self.closed.get(port.index())
                    {
                        view.learn(closed);
                    }
                }
            },
            Operation::Call { object, call } => {
                let passing = execution.objects[object.index()].passing(call, event.reply);
                if self.lanes.len() <= object.index() {
                    self.lanes.resize_with(object.index() + 1, Vec::new);
                }
                let lanes = &mut self.lanes[object.index()];
                for lane in passing.takes() {
                    if let Some(lane) = lanes.get(lane as usize * width..) {
                        view.learn(lane);
                    }
                }
                if let Some(lane) = passing.gives() {
                    view.seen[mine] = event.id.index + 1;
                    join(row(lanes, lane as usize, width), &view.seen);
                }
            }
            Operation::Send { .. } | Operation::Leads { .. } => {}
            _ => {
                if let Some(source) = event.source.filter(|it| it.thread != event.id.thread) {
                    view.learn(self.clock(source));
                }
            }
        }
        view.seen[mine] = event.id.index + 1;
        self.clocks.extend_from_slice(&view.seen);
        let row = self.messages.len();
        self.messages.resize(row + width, 0);
        if let Some((strength, continued)) = message {
            self.seq_cst |= strength.is_seq_cst();
            let passed_on = match strength.releases() {
                true => &view.seen,
                false => &view.released,
            };
            self.messages[row..].copy_from_slice(passed_on);
            // The thread's own entry of a release fence counts up to the fence.
            if let Some(source) = continued {
                let from = if source.thread == event.id.thread {
                    view.positions[source.index as usize] as usize
                } else {
                    self.position(source)
                };
                let (before, own) = self.messages.split_at_mut(row);
                join(own, &before[from * width..][..width]);
            }
        }
        self.threads[mine] = view;
    }

    /// Notes at which rank the access left its thread: its source's if it read, its own if it wrote.
    #[inline]
    fn record_access(&mut self, event: &Event, location: LocationId) {
        let coherence = &mut self.locations[location.index()];
        // Nothing is placed when the views of a past execution are computed; see [`Views::of`].
        coherence.record(event.id, coherence.top().saturating_sub(event.back()));
    }

    fn read(&mut self, view: &mut View, event: &Event, location: LocationId, strength: Strength) {
        self.seq_cst |= strength.is_seq_cst();
        self.record_access(event, location);
        let Some(source) = event.source else { return };
        let position = match source.thread == event.id.thread {
            true => view.positions[source.index as usize] as usize,
            false => self.position(source),
        };
        let message = &self.messages[position * self.width..][..self.width];
        join(&mut view.could_see, message);
        if strength.acquires() {
            view.learn(message);
        }
    }

    /// Whether what `SeqCst` asks holds if the thread performs this access, taking its source or its
    /// place so far back.
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
            for &position in &self.threads[index].positions {
                let event = &execution.events[position as usize];
                psc.add(self.touch(event, &moved));
            }
            if index == thread.index() {
                psc.add(pending);
            }
        }
        // What the access itself would see changes nothing: nothing comes after it.
        let mut own = self.seen(thread).to_vec();
        let count = self.threads[thread.index()].positions.len() as u32;
        if let (Some(source), Operation::Load { .. } | Operation::Update { .. }) =
            (self.source(location, back).0, operation)
            && pending_acquires(operation, writes)
        {
            join(&mut own, self.message(source));
        }
        own[thread.index()] = count + 1;
        psc.holds(|of, index| {
            if of as usize == thread.index() && index == count {
                return &own[..];
            }
            let position = self.threads[of as usize].positions[index as usize] as usize;
            &self.clocks[position * self.width..][..self.width]
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
