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
use super::clock::{covers, join, row, widen};
use super::psc::{Psc, Touch};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
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
    histories: Vec<History>,
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
    /// By event of the thread: which event of the run it is.
    positions: Vec<u32>,
}

/// One location.
#[derive(Debug, Default)]
struct History {
    initial: u64,
    /// In coherence order.
    writes: Vec<Write>,
    /// What each thread read, in its order, and from whom.
    reads: Vec<Vec<(EventId, Option<EventId>)>>,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    id: EventId,
    value: u64,
    /// Stands directly behind the write before it.
    update: bool,
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
        for history in &mut self.histories {
            history.writes.clear();
            history.reads.iter_mut().for_each(Vec::clear);
        }
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
        if self.histories.len() <= location.index() {
            self.histories
                .resize_with(location.index() + 1, History::default);
        }
        self.histories[location.index()].initial = initial;
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

    /// How far back a thread can look: so many writes are not older than what it knows, the initial
    /// value counted with them.
    pub(crate) fn reach(&self, thread: ThreadId, location: LocationId) -> u32 {
        let History { writes, reads, .. } = &self.histories[location.index()];
        let seen = self.seen(thread);
        let place = |source: Option<EventId>| match source {
            Some(source) => 1 + writes.iter().rposition(|it| it.id == source).unwrap_or(0),
            None => 0,
        };
        let known = writes.iter().rposition(|write| covers(seen, write.id));
        let mut known = known.map_or(0, |place| place + 1);
        // No thread goes back in the order of writes, so the last of its reads that is known says it all.
        for reads in reads {
            if known == writes.len() {
                break;
            }
            let count = reads.partition_point(|&(read, _)| covers(seen, read));
            if let Some(&(_, source)) = reads[..count].last() {
                known = known.max(place(source));
            }
        }
        (writes.len() - known + 1) as u32
    }

    /// The write that is so far back from the last, and its value.
    pub(crate) fn source(&self, location: LocationId, back: u32) -> (Option<EventId>, u64) {
        let history = &self.histories[location.index()];
        let place = history.writes.len() - back as usize;
        match place.checked_sub(1) {
            Some(place) => (Some(history.writes[place].id), history.writes[place].value),
            None => (None, history.initial),
        }
    }

    /// Whether a write may stand behind the one that is so far back.
    pub(crate) fn may_place(&self, location: LocationId, back: u32) -> bool {
        let writes = &self.histories[location.index()].writes;
        let next = writes.get(writes.len() - back as usize);
        next.is_none_or(|next| !next.update)
    }

    /// Puts a write behind the one that is so far back; says behind which that is, and which is behind
    /// it now.
    pub(crate) fn place(
        &mut self,
        location: LocationId,
        back: u32,
        id: EventId,
        value: u64,
        update: bool,
    ) -> (Option<EventId>, Option<EventId>) {
        let writes = &mut self.histories[location.index()].writes;
        let place = writes.len() - back as usize;
        let next = writes.get(place).map(|write| write.id);
        let last = place.checked_sub(1).map(|place| writes[place].id);
        writes.insert(place, Write { id, value, update });
        (last, next)
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
            Operation::Store { ordering, .. } => {
                message = Some((Strength::of(ordering), None));
            }
            Operation::HangUp { port, .. } => {
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
                    join(&mut view.seen, clock);
                }
            }
            Operation::Receive { ports, .. } => match event.source {
                Some(send) if send.thread == event.id.thread => {}
                Some(send) => join(&mut view.seen, self.clock(send)),
                None => {
                    if let crate::model::operation::Ports::One(port) = ports
                        && let Some(closed) = self.closed.get(port.index())
                    {
                        join(&mut view.seen, closed);
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
                        join(&mut view.seen, lane);
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
                    join(&mut view.seen, self.clock(source));
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

    fn read(&mut self, view: &mut View, event: &Event, location: LocationId, strength: Strength) {
        self.seq_cst |= strength.is_seq_cst();
        let reads = &mut self.histories[location.index()].reads;
        let reader = event.id.thread.index();
        if reads.len() <= reader {
            reads.resize_with(reader + 1, Vec::new);
        }
        reads[reader].push((event.id, event.source));
        let Some(source) = event.source else { return };
        let position = match source.thread == event.id.thread {
            true => view.positions[source.index as usize] as usize,
            false => self.position(source),
        };
        let message = &self.messages[position * self.width..][..self.width];
        join(&mut view.could_see, message);
        if strength.acquires() {
            join(&mut view.seen, message);
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
        let place = self.histories[location.index()].writes.len() as u32 - back;
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
        let writes = &self.histories[location.index()].writes;
        let place = |id: Option<EventId>| {
            let position = id.and_then(|id| writes.iter().rposition(|write| write.id == id));
            moved(location, position.map_or(0, |position| position as u32 + 1))
        };
        let written = writes.iter().any(|write| write.id == event.id);
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        let own = self.pending_touch(&event.operation, 0, written);
        Touch {
            read: reads.then(|| place(event.source)),
            written: written.then(|| place(Some(event.id))),
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
