//! The writes that a thread of a running execution may still read.
//!
//! A read may take any write that coherence allows (`coherence.rs`), given the events that happen
//! before it (`happens_before`), and a write may directly follow any of those. `psc.rs` has the
//! additional rules of `SeqCst`.
//!
//! Clocks and coherence are kept only for weak executions: see [`Views::is_on`].

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use super::clock::join;
use super::coherence::{Coherence, VersionedClock, Write};
use super::happens_before::{EveryEvent, HappensBefore};
use super::psc::{Psc, SeqCstRules, Touch};
use super::strong_order::{Access, EcoPlace, Known, StrongOrder};
use super::{Model, Strength};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Clocks of the present execution, and the coherence of its locations.
#[derive(Debug, Default)]
pub(crate) struct Views {
    hb: HappensBefore<EveryEvent>,
    locations: Vec<Coherence>,
    psc: RefCell<Psc>,
    strong: RefCell<StrongOrder>,
    /// True once there was a `SeqCst` access or fence.
    seq_cst: bool,
}

impl Views {
    /// True when clocks and coherence are kept.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.hb.is_on()
    }

    /// Removes all events; from now on clocks and coherence are kept if `on`.
    pub(crate) fn reset(&mut self, on: bool) {
        self.hb.reset(on);
        if on {
            self.locations.iter_mut().for_each(Coherence::clear);
            if self.seq_cst {
                self.strong.get_mut().clear();
            }
            self.seq_cst = false;
        }
    }

    /// Sets the memory model.
    pub(crate) fn follow(&mut self, model: Model) {
        self.psc = RefCell::new(Psc::new(model.seq_cst_rules()));
    }

    #[inline(always)]
    pub(crate) fn add_thread(&mut self) {
        self.hb.add_thread();
    }

    pub(crate) fn add_location(&mut self, location: LocationId, initial: u64) {
        if !self.is_on() {
            return;
        }
        if self.locations.len() <= location.index() {
            self.locations
                .resize_with(location.index() + 1, Coherence::default);
        }
        self.locations[location.index()].initial = initial;
    }

    /// Returns the clock of the events that happen before the thread's next one.
    pub(crate) fn hb(&self, thread: ThreadId) -> &[u32] {
        self.hb.hb(thread)
    }

    /// Returns the position of a performed event in the order of the run.
    pub(crate) fn position(&self, event: EventId) -> usize {
        self.hb.position(event)
    }

    #[inline]
    fn known(&self, thread: ThreadId) -> VersionedClock<'_> {
        VersionedClock {
            clock: self.hb.hb(thread),
            version: self.hb.version(thread),
        }
    }

    /// Returns the number of writes that the thread's next read of the location may take, the
    /// initial value included; they are the last in coherence order. This is also the number of
    /// places for its next write.
    // Not inlined: executions without weak accesses would pay for its registers.
    #[inline(never)]
    pub(crate) fn reach(&self, thread: ThreadId, location: LocationId) -> u32 {
        self.locations[location.index()].reach(thread, || self.known(thread))
    }

    /// True when an update by the thread can only follow the coherence-last write.
    pub(crate) fn must_append(&self, thread: ThreadId, location: LocationId) -> bool {
        let known = self.known(thread);
        self.locations[location.index()].must_append(thread, known)
    }

    /// Returns the write that is `back` writes before the coherence-last, and its value.
    pub(crate) fn source(&self, location: LocationId, back: u32) -> (Option<EventId>, u64) {
        let coherence = &self.locations[location.index()];
        match coherence.write(coherence.top() - back) {
            Some(write) => (Some(write.id), write.value),
            None => (None, coherence.initial),
        }
    }

    /// True when a write may directly follow the one that is `back` writes before the last: the
    /// next write is not an update of that one.
    pub(crate) fn may_place(&self, location: LocationId, back: u32) -> bool {
        let coherence = &self.locations[location.index()];
        let next = coherence.write(coherence.top() - back + 1);
        next.is_none_or(|next| !next.update)
    }

    /// Inserts a write directly after the one that is `back` writes before the last; returns its
    /// neighbours before and after.
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

    /// Updates clocks and coherence for an event that has just been performed.
    #[inline(never)]
    pub(crate) fn record(&mut self, event: &Event, execution: &Execution) {
        self.record_access(event, execution);
    }

    /// Does the same as [`record`](Self::record). Inlined where the kind of the operation is known.
    #[inline(always)]
    pub(crate) fn record_access(&mut self, event: &Event, execution: &Execution) {
        let location = match event.operation {
            Operation::Load {
                location, ordering, ..
            }
            | Operation::Store {
                location, ordering, ..
            } => {
                self.seq_cst |= ordering == Ordering::SeqCst;
                Some(location)
            }
            Operation::Update {
                location,
                ordering,
                failure,
                ..
            } => {
                self.seq_cst |= ordering == Ordering::SeqCst || failure == Ordering::SeqCst;
                Some(location)
            }
            Operation::Fence { ordering } => {
                self.seq_cst |= ordering == Ordering::SeqCst;
                None
            }
            Operation::HangUp { location, .. } => Some(location),
            _ => None,
        };
        if let Some(location) = location {
            self.locations[location.index()].record(event.id, event.back());
        }
        self.hb.record(event, execution);
        if self.seq_cst {
            self.add_strong(event, execution);
        }
    }

    /// Adds an access or a fence to the order of `SeqCst`.
    #[inline(never)]
    fn add_strong(&mut self, event: &Event, execution: &Execution) {
        if self.psc.get_mut().rules() != SeqCstRules::Cpp20 {
            return;
        }
        let EventId { thread, index } = event.id;
        if let Operation::Fence { ordering } = event.operation {
            if ordering == Ordering::SeqCst {
                if !self.strong.get_mut().has_fence() {
                    self.catch_up_fences(execution);
                }
                let clock = self.hb.hb(thread);
                (self.strong.get_mut()).add_fence(event.id, clock, &self.locations);
            }
            return;
        }
        let Some(location) = event.operation.location() else {
            return;
        };
        let writes = event.writes();
        let is_strong = Strength::of_operation(&event.operation, writes).is_seq_cst();
        let strong = self.strong.get_mut();
        if !is_strong && !strong.has_fence() {
            return;
        }
        let coherence = &self.locations[location.index()];
        let rank = coherence.top() - event.back();
        let place = EcoPlace {
            write: coherence.number(rank),
            reads: !writes,
        };
        let clock = self.hb.hb(thread);
        let access = Access {
            event: event.id,
            location,
            behind: rank - u32::from(writes),
            is_strong,
            before: (self.hb).clock_of_others(EventId {
                index: index - 1,
                ..event.id
            }),
            acquired: clock,
            events: execution.events.len(),
        };
        let clock_of = |event| self.hb.clock_of_others(event);
        strong.add(access, place, &self.locations, clock_of);
        if strong.has_fence() {
            let known = Known {
                clock,
                version: self.hb.version(thread),
            };
            strong.note(event.id, location, place, known, coherence);
        }
    }

    /// Notes the accesses before the first `SeqCst` fence.
    #[cold]
    fn catch_up_fences(&mut self, execution: &Execution) {
        let ranks = self.ranks(execution);
        for event in &execution.events {
            let touch = self.touch(event, &|_, position| position, &ranks);
            if let (Some(location), Some(rank)) =
                (event.operation.location(), touch.written.or(touch.read))
            {
                let coherence = &self.locations[location.index()];
                let place = EcoPlace {
                    write: coherence.number(rank),
                    reads: touch.written.is_none(),
                };
                let known = Known {
                    clock: &[],
                    version: 0,
                };
                (self.strong.get_mut()).note(event.id, location, place, known, coherence);
            }
        }
    }

    /// True when the axiom on `SeqCst` (`psc.rs`) still holds if the thread performs this access
    /// with a source or a place `back` writes before the last.
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
        if self.psc.borrow().rules() != SeqCstRules::Cpp20 {
            return self.satisfies_psc(execution, thread, operation, back, writes);
        }
        let strength = Strength::of_operation(operation, writes);
        let mut strong = self.strong.borrow_mut();
        // Places in coherence order, and the clocks of events so far, do not depend on other accesses.
        if !strength.is_seq_cst() && !strong.has_fence() {
            return true;
        }
        let source = match operation {
            Operation::Load { .. } | Operation::Update { .. } if strength.acquires() => {
                self.source(location, back).0
            }
            _ => None,
        };
        let access = Access {
            event: EventId {
                thread,
                index: self.hb.positions(thread).len() as u32,
            },
            location,
            behind: self.locations[location.index()].top() - back,
            is_strong: strength.is_seq_cst(),
            before: self.hb(thread),
            acquired: source.map_or(&[], |it| self.hb.release_clock(it)),
            events: execution.events.len(),
        };
        let clock_of = |event| self.hb.clock_of_others(event);
        strong.admits(access, &self.locations, clock_of)
    }

    /// Decides the same as [`is_consistent`](Self::is_consistent), from all events.
    pub(crate) fn satisfies_psc(
        &self,
        execution: &Execution,
        thread: ThreadId,
        operation: &Operation,
        back: u32,
        writes: bool,
    ) -> bool {
        let Some(location) = operation.location() else {
            return true;
        };
        let place = self.locations[location.index()].top() - back;
        let pending = self.pending_touch(operation, place, writes);
        let ranks = self.ranks(execution);
        let moved = |at: LocationId, position: u32| {
            position + u32::from(writes && at == location && position > place)
        };
        let mut psc = self.psc.borrow_mut();
        psc.clear();
        for index in 0..execution.threads.len() {
            psc.begin_thread();
            for &position in self.hb.positions(ThreadId::new(index)) {
                let event = &execution.events[position as usize];
                psc.add(self.touch(event, &moved, &ranks));
            }
            if index == thread.index() {
                psc.add(pending);
            }
        }
        // Clock of the access itself.
        let mut own = self.hb(thread).to_vec();
        let count = self.hb.positions(thread).len() as u32;
        if let (Some(source), Operation::Load { .. } | Operation::Update { .. }) =
            (self.source(location, back).0, operation)
            && Strength::of_operation(operation, writes).acquires()
        {
            join(&mut own, self.hb.release_clock(source));
        }
        own[thread.index()] = count + 1;
        psc.holds(|of, index| {
            if of as usize == thread.index() && index == count {
                return &own[..];
            }
            let thread = ThreadId::new(of as usize);
            self.hb.clock_of_others(EventId { thread, index })
        })
    }

    fn pending_touch(&self, operation: &Operation, place: u32, writes: bool) -> Touch {
        let reads = matches!(operation, Operation::Load { .. } | Operation::Update { .. });
        Touch {
            location: operation.location().map(|it| it.index() as u32),
            read: reads.then_some(place),
            written: writes.then_some(place + 1),
            seq_cst: Strength::of_operation(operation, writes).is_seq_cst(),
            ..Touch::default()
        }
    }

    /// Returns the rank of each event in the coherence order of its location, by its position in the order
    /// of the run; 0 for events that write nothing.
    fn ranks(&self, execution: &Execution) -> Vec<u32> {
        let mut ranks = vec![0; execution.events.len()];
        for coherence in &self.locations {
            for rank in 1..=coherence.top() {
                if let Some(write) = coherence.write(rank) {
                    ranks[self.hb.position(write.id)] = rank;
                }
            }
        }
        ranks
    }

    fn touch(
        &self,
        event: &Event,
        moved: &impl Fn(LocationId, u32) -> u32,
        ranks: &[u32],
    ) -> Touch {
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
        let place = |rank: Option<u32>| moved(location, rank.unwrap_or(0));
        let rank = |write: EventId| Some(ranks[self.hb.position(write)]).filter(|&it| it > 0);
        let written = rank(event.id);
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        let own = self.pending_touch(&event.operation, 0, written.is_some());
        Touch {
            read: reads.then(|| place(event.source.and_then(rank))),
            written: written.map(|rank| place(Some(rank))),
            ..own
        }
    }
}
