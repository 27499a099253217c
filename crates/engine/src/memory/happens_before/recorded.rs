//! Happens-before of a running or recorded execution.

use super::histories::{EveryEvent, History};
use super::{
    AccessClocks, EventClocks, Released, Strength, call, fence, load, store, synchronizes_with,
    update,
};
use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::base::reply::Received;
use crate::memory::clock::{Clocks, covers, join, row, widen};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::synchronization::SyncClock;

/// Number of the clock of a port to which senders release when they hang up.
const HUNG_UP: SyncClock = 0;

/// Clocks of threads and objects, and a history of the released clocks of events.
#[derive(Debug, Default)]
pub(crate) struct HappensBefore<H> {
    on: bool,
    /// Number of entries of a clock; at least the number of threads.
    width: usize,
    /// By thread, the clock of the events that happen before its next one.
    hb: Clocks,
    /// By thread, the clocks that its next acquire fence acquires.
    acquirable: Clocks,
    /// By thread, `hb` of its last release fence; zero before the first.
    fence: Clocks,
    /// By thread, a version that changes whenever `hb` includes more events of other threads; at
    /// least 1.
    versions: Vec<u32>,
    /// By object, its clocks of synchronization.
    objects: Vec<Clocks>,
    /// Name of each released group of a barrier, and the joined clocks of its members.
    groups: Vec<(EventId, Clocks)>,
    history: H,
}

/// A write of a location, or its initial value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOf {
    pub(super) location: LocationId,
    pub(super) event: Option<EventId>,
}

/// Returns the clock of the events that happen before the next event of a thread. The execution may be running.
#[must_use]
pub fn clock_of(execution: &Execution, thread: ThreadId) -> Vec<u32> {
    let clocks = HappensBefore::<EveryEvent>::of(execution);
    clocks.hb(thread)[..execution.threads.len()].to_vec()
}

/// Happens-before of an execution that has ended.
#[derive(Debug)]
pub struct EventOrder(HappensBefore<EveryEvent>);

impl EventOrder {
    /// Computes the order of all events.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        EventOrder(HappensBefore::of(execution))
    }

    /// Computes the order of causality: program order, reads-from and the order of the calls on each object, whatever the
    /// orderings of accesses are.
    #[must_use]
    pub fn of_causes(execution: &Execution) -> Self {
        EventOrder(HappensBefore::causes(execution))
    }

    /// True when the first event happens before the second.
    #[must_use]
    pub fn has(&self, first: EventId, second: EventId) -> bool {
        match first.thread == second.thread {
            true => first.index < second.index,
            false => covers(self.0.history.row(second, self.0.width), first),
        }
    }
}

/// The clocks at one event.
struct At<'a, H> {
    all: &'a mut HappensBefore<H>,
    event: EventId,
}

impl<H: History> HappensBefore<H> {
    /// Computes the clocks of an execution that has ended.
    pub(crate) fn of(execution: &Execution) -> Self {
        let mut all = Self::default();
        all.catch_up(execution);
        all
    }

    /// True when clocks are kept.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Removes all events; from now on clocks are kept if `on`.
    #[inline]
    pub(crate) fn reset(&mut self, on: bool) {
        self.on = on;
        if on {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.width = self.width.max(4);
        self.hb.clear();
        self.acquirable.clear();
        self.fence.clear();
        self.versions.clear();
        self.objects.iter_mut().for_each(Vec::clear);
        self.groups.clear();
        self.history.clear();
    }

    /// Records the events of an execution whose clocks were not kept so far.
    pub(crate) fn catch_up(&mut self, execution: &Execution) {
        self.begin(execution);
        for event in &execution.events {
            self.record(event, execution);
        }
    }

    fn begin(&mut self, execution: &Execution) {
        self.reset(true);
        execution.threads.iter().for_each(|_| self.add_thread());
    }

    #[inline(always)]
    pub(crate) fn add_thread(&mut self) {
        if self.on {
            self.add_row();
        }
    }

    #[inline(never)]
    fn add_row(&mut self) {
        if self.versions.len() == self.width {
            self.double_width();
        }
        self.versions.push(1);
        let end = self.versions.len() * self.width;
        self.hb.resize(end, 0);
        self.acquirable.resize(end, 0);
        self.fence.resize(end, 0);
        self.history.add_thread();
    }

    #[cold]
    fn double_width(&mut self) {
        let (old, new) = (self.width, self.width * 2);
        let clocks = [&mut self.hb, &mut self.acquirable, &mut self.fence].into_iter();
        let clocks = clocks.chain(&mut self.objects);
        let clocks = clocks.chain(self.groups.iter_mut().map(|(_, clock)| clock));
        clocks.for_each(|clocks| widen(clocks, old, new));
        self.history.widen(old, new);
        self.width = new;
    }

    /// Returns the clock of the events that happen before the thread's next one.
    #[inline]
    pub(crate) fn hb(&self, thread: ThreadId) -> &[u32] {
        &self.hb[thread.index() * self.width..][..self.width]
    }

    /// Returns a version that changes whenever `hb` of the thread includes more events of other
    /// threads; at least 1.
    #[inline]
    pub(crate) fn version(&self, thread: ThreadId) -> u32 {
        self.versions[thread.index()]
    }

    #[inline]
    fn at(&mut self, event: EventId) -> At<'_, H> {
        At { all: self, event }
    }

    /// Applies the rules to an event that has just been performed.
    #[inline(always)]
    pub(crate) fn record(&mut self, event: &Event, execution: &Execution) {
        let clocks = &mut self.at(event.id);
        let source = |location| WriteOf {
            location,
            event: event.source,
        };
        let own = |location| WriteOf {
            location,
            event: Some(event.id),
        };
        match event.operation {
            Operation::Call {
                object,
                call: request,
            } => {
                let object_state = &execution.objects[object.index()];
                call(
                    clocks,
                    object,
                    object_state.synchronization(request, event.reply),
                );
            }
            Operation::Load { location, ordering } => {
                load(clocks, source(location), Strength::of(ordering));
            }
            Operation::Store {
                location, ordering, ..
            } => store(clocks, own(location), Strength::of(ordering), None),
            Operation::Update { location, .. } => {
                let writes = event.writes();
                let strength = Strength::of_operation(&event.operation, writes);
                match writes {
                    true => update(clocks, source(location), own(location), strength),
                    false => load(clocks, source(location), strength),
                }
            }
            Operation::Fence { ordering } => fence(clocks, Strength::of(ordering)),
            Operation::Spawn | Operation::End | Operation::Send { .. } => {
                clocks.complete();
                clocks.keep();
            }
            Operation::Begin
            | Operation::Join { .. }
            | Operation::IsFinished { .. }
            | Operation::Delivered { .. } => synchronizes_with(clocks, event.source),
            Operation::Receive { ref ports, .. } => {
                if event.reply.to_received() == Received::Closed {
                    for &port in execution.port_list(ports) {
                        clocks.acquire_object(port, HUNG_UP);
                    }
                }
                synchronizes_with(clocks, event.source);
                clocks.keep();
            }
            Operation::HangUp { port, location } => {
                store(clocks, own(location), Strength::RELEASE, None);
                clocks.release_object(port, HUNG_UP);
            }
            Operation::Meet { barrier } => {
                let barrier = execution.objects[barrier.index()].barrier();
                let (name, members) = barrier.group_left_by(event.id, event.source);
                self.meet(event.id, name, members);
            }
            Operation::Yield
            | Operation::Sleep { .. }
            | Operation::Choose { .. }
            | Operation::Chance { .. }
            | Operation::Assume
            | Operation::Leads { .. } => clocks.complete(),
        }
    }

    /// Applies the rules of a pass of a barrier. The first member to pass joins the clocks of the
    /// group, up to and including the pass of each member.
    fn meet(&mut self, event: EventId, name: EventId, members: impl Iterator<Item = ThreadId>) {
        if !self.groups.iter().any(|(known, _)| *known == name) {
            let mut clock = vec![0; self.width];
            for member in members {
                join(&mut clock, self.hb(member));
                clock[member.index()] = self.hb(member)[member.index()] + 1;
            }
            self.groups.push((name, clock));
        }
        self.acquire_group(event, name);
        self.at(event).complete();
    }

    fn acquire_group(&mut self, event: EventId, name: EventId) {
        let own = event.thread.index() * self.width..(event.thread.index() + 1) * self.width;
        if let Some((_, clock)) = self.groups.iter().rfind(|(known, _)| *known == name) {
            let changes = join(&mut self.hb[own], clock);
            self.versions[event.thread.index()] += u32::from(changes);
        }
    }
}

impl HappensBefore<EveryEvent> {
    /// Computes the clocks of causality in an execution that has ended: program order, reads-from,
    /// and the completion order of each object. Coherence and the arrival order of messages are not
    /// part of it.
    pub(crate) fn causes(execution: &Execution) -> Self {
        let mut all = Self::default();
        all.begin(execution);
        for event in &execution.events {
            all.record_causes(event, execution);
        }
        all
    }

    /// Computes the clocks of an execution that has ended as if some of its calls did not synchronize. `woken_by` names
    /// the notification that a wake-up depends on.
    pub(crate) fn without(
        execution: &Execution,
        is_left_out: impl Fn(&Event) -> bool,
        woken_by: impl Fn(EventId) -> Option<EventId>,
    ) -> Self {
        let mut all = Self::default();
        all.begin(execution);
        for event in &execution.events {
            match woken_by(event.id) {
                Some(notification) => {
                    synchronizes_with(&mut all.at(event.id), Some(notification));
                }
                None if is_left_out(event) => all.at(event.id).complete(),
                None => all.record(event, execution),
            }
        }
        all
    }

    /// Records an event as [`record`](Self::record) does, but each event depends on its source,
    /// whatever its ordering.
    fn record_causes(&mut self, event: &Event, execution: &Execution) {
        match event.operation {
            Operation::Load { .. } | Operation::Update { .. } | Operation::Call { .. } => {
                synchronizes_with(&mut self.at(event.id), event.source);
            }
            Operation::Store { .. } | Operation::Fence { .. } => self.at(event.id).complete(),
            Operation::Meet { barrier } => {
                let barrier = execution.objects[barrier.index()].barrier();
                let (name, members) = barrier.group_left_by(event.id, event.source);
                if !self.groups.iter().any(|(known, _)| *known == name) {
                    let mut clock = vec![0; self.width];
                    for member in members {
                        join(&mut clock, self.hb(member));
                    }
                    // The groups of one barrier are totally ordered.
                    let before = barrier.group_before(name);
                    let mut groups = self.groups.iter();
                    if let Some((_, earlier)) = groups.find(|(known, _)| Some(*known) == before) {
                        join(&mut clock, earlier);
                    }
                    self.groups.push((name, clock));
                }
                self.acquire_group(event.id, name);
                self.at(event.id).complete();
            }
            _ => self.record(event, execution),
        }
    }

    /// Returns `hb` of a performed event.
    pub(crate) fn clock(&self, event: EventId) -> Vec<u32> {
        let mut clock = vec![0; self.width];
        self.history.join_hb(event, self.width, &mut clock);
        clock
    }

    /// Returns `hb` of a performed event, but for the entry of its own thread, which may be that of an
    /// earlier event.
    #[inline]
    pub(crate) fn clock_of_others(&self, event: EventId) -> &[u32] {
        self.history.row(event, self.width)
    }

    /// True when the first event happens before the second, or is the same.
    #[inline]
    pub(crate) fn is_covered(&self, first: EventId, second: EventId) -> bool {
        match first.thread == second.thread {
            true => first.index <= second.index,
            false => covers(self.clock_of_others(second), first),
        }
    }

    /// Returns `hb` of the event's thread before the event.
    pub(crate) fn before(&self, event: EventId) -> Vec<u32> {
        match event.index.checked_sub(1) {
            Some(index) => self.clock(EventId { index, ..event }),
            None => vec![0; self.width],
        }
    }

    /// Returns the position of a performed event in the order of the run.
    pub(crate) fn position(&self, event: EventId) -> usize {
        self.history.position(event)
    }

    /// Returns the positions of the thread's events in the order of the run.
    pub(crate) fn positions(&self, thread: ThreadId) -> &[u32] {
        self.history.positions(thread)
    }

    /// Returns the release clock of a write; empty if it releases nothing.
    pub(crate) fn release_clock(&self, write: EventId) -> &[u32] {
        self.history.release_clock_of(write, self.width)
    }
}

impl<H: History> At<'_, H> {
    #[inline]
    fn own(&self) -> std::ops::Range<usize> {
        let start = self.event.thread.index() * self.all.width;
        start..start + self.all.width
    }

    /// Keeps `hb` of the event, because another event may acquire it.
    #[inline]
    fn keep(&mut self) {
        let own = self.own();
        self.all.history.keep(self.event, &self.all.hb[own]);
    }
}

impl<H: History> AccessClocks for At<'_, H> {
    type Write = WriteOf;

    #[inline]
    fn acquire(&mut self, write: WriteOf) {
        let own = self.own();
        let all = &mut *self.all;
        let release_clock = all.history.release_clock(write, all.width);
        if !release_clock.is_empty() {
            let changes = join(&mut all.hb[own], release_clock);
            all.versions[self.event.thread.index()] += u32::from(changes);
        }
    }

    #[inline]
    fn defer(&mut self, write: WriteOf) {
        let own = self.own();
        let all = &mut *self.all;
        let release_clock = all.history.release_clock(write, all.width);
        if !release_clock.is_empty() {
            join(&mut all.acquirable[own], release_clock);
        }
    }

    #[inline]
    fn acquire_deferred(&mut self) {
        let own = self.own();
        let all = &mut *self.all;
        let changes = join(&mut all.hb[own.clone()], &all.acquirable[own]);
        all.versions[self.event.thread.index()] += u32::from(changes);
    }

    #[inline(always)]
    fn complete(&mut self) {
        let own = self.own();
        let hb = &mut self.all.hb[own];
        hb[self.event.thread.index()] = self.event.index + 1;
        let version = self.all.versions[self.event.thread.index()];
        self.all.history.push(self.event, hb, version);
    }

    #[inline(always)]
    fn release(&mut self, write: WriteOf, released: Released, continued: Option<WriteOf>) {
        let own = self.own();
        let all = &mut *self.all;
        let released = match released {
            Released::Hb => &all.hb[own],
            Released::Fence => {
                let fence = &all.fence[own];
                // The entry of a fence's own thread is not 0, because its clock includes the fence.
                match fence[self.event.thread.index()] {
                    0 => &[],
                    _ => fence,
                }
            }
        };
        (all.history).set_release_clock(write, released, continued, all.width);
    }

    #[inline]
    fn release_at_fence(&mut self) {
        let own = self.own();
        self.all.fence[own.clone()].copy_from_slice(&self.all.hb[own]);
    }
}

impl<H: History> EventClocks for At<'_, H> {
    #[inline]
    fn event(&self) -> EventId {
        self.event
    }

    #[inline]
    fn acquire_event(&mut self, event: EventId) {
        let own = self.own();
        let all = &mut *self.all;
        let changes = (all.history).join_hb(event, all.width, &mut all.hb[own]);
        all.versions[self.event.thread.index()] += u32::from(changes);
    }

    #[inline]
    fn acquire_object(&mut self, object: ObjectId, clock: SyncClock) {
        let own = self.own();
        let all = &mut *self.all;
        let clocks = all
            .objects
            .get(object.index())
            .map_or(&[][..], Vec::as_slice);
        if let Some(clock) = clocks.get(clock as usize * all.width..) {
            let changes = join(&mut all.hb[own], clock);
            all.versions[self.event.thread.index()] += u32::from(changes);
        }
    }

    #[inline]
    fn release_object(&mut self, object: ObjectId, clock: SyncClock) {
        let own = self.own();
        let all = &mut *self.all;
        if all.objects.len() <= object.index() {
            all.objects.resize_with(object.index() + 1, Vec::new);
        }
        let clock = row(&mut all.objects[object.index()], clock as usize, all.width);
        join(clock, &all.hb[own]);
    }
}
