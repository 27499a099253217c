//! One finished or running execution: its events, in the order of the run.
//!
//! All later stages (checkers, coverage, schedules, reports) read only this. Two executions belong
//! to the same *class* when every receive has the same source and the stores of each location have
//! the same coherence order. The order of unrelated events does not matter. [`Execution::class`]
//! returns the exact name of the class and [`Execution::fingerprint`] a name of 64 bits.

use super::access::{Access, Conflict};
use super::declared::{Declared, EventLabel};
use super::event::Event;
use super::events::Events;
use super::fault::{MemoryError, Panic};
use super::location::Location;
use super::naming::Naming;
use super::operation::{Operation, Ports};
use super::schedule::ThreadPath;
use crate::base::ids::{CellId, EventId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::Reply;
use crate::object::Object;

/// A thread of an execution.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// The event that created it; `None` for the main thread.
    pub spawned_by: Option<EventId>,
    /// Number of threads that its creator had created before it.
    pub ordinal: u32,
    /// Name given by the program.
    pub name: Option<String>,
    /// Its last event, once it ended.
    pub end: Option<EventId>,
    /// True when the program ends without waiting for it.
    pub is_detached: bool,
    children: u32,
}

/// A thread in a spin loop: it repeats reads that do not change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spinning {
    /// The thread.
    pub thread: ThreadId,
    /// Events of one round of the loop, in order.
    pub events: Vec<EventId>,
    /// Site where the round begins.
    pub site: SiteId,
}

/// The rounds of threads that poll, at the end of an execution that never ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polls {
    /// Number of events before the rounds.
    pub from: usize,
    /// Number of events that the record keeps: up to the end of the first rounds.
    pub to: usize,
    /// Number of events of all rounds.
    pub events: usize,
}

/// One execution of the program under test.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Every event in the order it was performed.
    pub events: Events,
    /// Every thread, by [`ThreadId`].
    pub threads: Vec<ThreadInfo>,
    /// Every synchronization object in its last state, by [`ObjectId`](crate::ObjectId).
    pub objects: Vec<Object>,
    /// Every synchronization object in its state before its first use.
    pub(crate) first_states: Vec<Object>,
    /// Every memory location in its last state, by [`LocationId`](crate::LocationId).
    pub locations: Vec<Location>,
    /// Names of objects in the program.
    pub object_names: Naming,
    /// Names of locations in the program.
    pub location_names: Naming,
    /// Lists of ports of receives, by [`PortListId`](crate::PortListId).
    pub port_lists: Vec<Vec<ObjectId>>,
    /// After a deadlock, too many events or the end of the time, by [`ThreadId`]: the pending operation of
    /// each blocked thread, and its site.
    pub pending: Vec<Option<(Operation, SiteId)>>,
    /// The declared waits of each task among the blocked threads that has more than one; one that has
    /// one wait has that as its pending operation.
    pub awaits: Vec<(ThreadId, Operation, SiteId)>,
    /// After the time was over, by [`ThreadId`]: the next operation of each thread that has not ended.
    pub positions: Vec<Option<(Operation, SiteId)>>,
    /// After a livelock: the threads in spin loops.
    pub spinning: Vec<Spinning>,
    /// The threads that ended by a panic, in the order the panics began.
    pub panics: Vec<Panic>,
    /// Number of cells used.
    pub cells: usize,
    /// Every access of a cell, if they are kept; see [`World::keep_accesses`](crate::World::keep_accesses).
    pub accesses: Vec<(CellId, Access)>,
    /// Declarations of the program, if accesses are kept and it has made any.
    pub declared: Option<Box<Declared>>,
    /// Labels of events, in the order in which the program gave them; empty unless the check asks for them.
    pub labels: Vec<EventLabel>,
    /// First conflict between two accesses of a cell.
    pub conflict: Option<Conflict>,
    /// First use of memory that was freed, dropped or never allocated.
    pub memory_error: Option<MemoryError>,
    /// True when the program ended, whether or not its other threads have.
    pub is_over: bool,
    /// Number of detached threads, those that have ended included.
    pub detached: usize,
    /// True when the execution was stopped after the end of the program, because the threads that
    /// could continue only polled.
    pub left_polling: bool,
    /// Set when the execution was stopped because some threads are blocked for ever and the others
    /// only poll.
    pub polls: Option<Polls>,
    /// Number of switches away from a thread that could have continued; see
    /// [`State::interrupts`](crate::State::interrupts).
    pub preemptions: u32,
    fingerprint: u64,
    /// Part of the fingerprint from the coherence order of stores.
    coherence: u64,
}

/// One decision of a class: an event with its source and outcome.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassEntry {
    /// The event's thread and position.
    pub event: (ThreadPath, u32),
    /// The source's thread and position.
    pub source: Option<(ThreadPath, u32)>,
    /// The part of its outcome that the source does not determine.
    pub outcome: Resolution,
}

impl Execution {
    /// Removes all events and keeps the memory.
    pub(crate) fn reset(&mut self) {
        self.events.clear();
        self.threads.clear();
        self.objects.clear();
        self.first_states.clear();
        self.locations.clear();
        self.object_names.reset();
        self.location_names.reset();
        self.port_lists.clear();
        self.pending.clear();
        self.awaits.clear();
        self.positions.clear();
        self.spinning.clear();
        self.panics.clear();
        self.cells = 0;
        self.accesses.clear();
        self.declared = None;
        self.labels.clear();
        self.conflict = None;
        self.memory_error = None;
        self.is_over = false;
        self.detached = 0;
        self.left_polling = false;
        self.polls = None;
        self.preemptions = 0;
        (self.fingerprint, self.coherence) = (0, 0);
    }

    pub(crate) fn add_thread(&mut self, spawned_by: Option<EventId>) -> ThreadId {
        let id = ThreadId::new(self.threads.len());
        let ordinal = spawned_by.map_or(0, |event| {
            let parent = &mut self.threads[event.thread.index()];
            parent.children += 1;
            parent.children - 1
        });
        self.threads.push(ThreadInfo {
            spawned_by,
            ordinal,
            name: None,
            end: None,
            is_detached: false,
            children: 0,
        });
        id
    }

    /// Adds the fingerprint of an event's decision to that of the class.
    #[inline]
    pub(crate) fn add_decision(&mut self, entry: u64, is_store: bool) {
        self.fingerprint = self.fingerprint.wrapping_add(entry);
        if is_store {
            self.coherence = self.coherence.wrapping_add(entry);
        }
    }

    /// Replaces the decision of a store whose predecessor in coherence order has changed.
    pub(crate) fn correct(&mut self, before: u64, now: u64) {
        for sum in [&mut self.fingerprint, &mut self.coherence] {
            *sum = sum.wrapping_sub(before).wrapping_add(now);
        }
    }

    /// Returns a 64-bit name of this execution's class. It is equal for executions of one class;
    /// two classes have equal names with a probability of 2^-64.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the fingerprint without coherence: equal for executions in which every receive has
    /// the same source.
    pub fn reads_from_fingerprint(&self) -> u64 {
        self.fingerprint.wrapping_sub(self.coherence)
    }

    /// Returns the exact name of this execution's class: every decision with its source and
    /// outcome, in an order that does not depend on the run.
    pub fn class(&self) -> Vec<ClassEntry> {
        let name = |id: EventId| (self.path(id.thread), id.index);
        let mut entries: Vec<ClassEntry> = self
            .events
            .iter()
            .filter(|event| decides(&event.operation))
            .map(|event| ClassEntry {
                event: name(event.id),
                source: event.source.map(name),
                outcome: resolution(&event.operation, event.outcome, event.reply),
            })
            .collect();
        entries.sort();
        entries
    }

    /// Returns the ports of a receive.
    pub fn port_list<'a>(&'a self, ports: &'a Ports) -> &'a [ObjectId] {
        match ports {
            Ports::One(port) => std::slice::from_ref(port),
            Ports::Any(list) => &self.port_lists[list.index()],
        }
    }

    /// Returns name and members of the group with which the thread of this event passed a barrier.
    pub fn group(&self, event: &Event) -> Option<(EventId, Vec<ThreadId>)> {
        let Operation::Meet { barrier } = event.operation else {
            return None;
        };
        let Object::Barrier(barrier) = &self.objects[barrier.index()] else {
            return None;
        };
        let (name, members) = barrier.group_left_by(event.id, event.source);
        Some((name, members.collect()))
    }

    /// Returns the thread's path in the tree of creations, which does not depend on the schedule.
    pub fn path(&self, thread: ThreadId) -> ThreadPath {
        let mut path = Vec::new();
        let mut info = &self.threads[thread.index()];
        while let Some(event) = info.spawned_by {
            path.push(info.ordinal + 1);
            info = &self.threads[event.thread.index()];
        }
        path.reverse();
        ThreadPath::new(path)
    }

    /// Returns the thread with this path in the tree of creations, if it exists already.
    pub fn thread_at(&self, path: &ThreadPath) -> Option<ThreadId> {
        let mut found = ThreadId::MAIN;
        for &step in path.steps() {
            let child = self.threads.iter().position(|info| {
                info.spawned_by.is_some_and(|event| event.thread == found)
                    && info.ordinal + 1 == step
            })?;
            found = ThreadId::new(child);
        }
        (found.index() < self.threads.len()).then_some(found)
    }
}

/// True when the operation's source or outcome distinguishes classes.
#[inline]
pub(crate) fn decides(operation: &Operation) -> bool {
    match operation {
        Operation::IsFinished { .. }
        | Operation::Choose { .. }
        | Operation::Chance { .. }
        | Operation::Load { .. }
        | Operation::Store { .. }
        | Operation::Update { .. }
        | Operation::Send { .. }
        | Operation::Receive { .. }
        | Operation::Meet { .. }
        | Operation::Leads { .. }
        | Operation::Call { .. } => true,
        Operation::Begin
        | Operation::End
        | Operation::Spawn
        | Operation::Join { .. }
        | Operation::Yield
        | Operation::Sleep { .. }
        | Operation::Assume
        | Operation::Delivered { .. }
        | Operation::HangUp { .. }
        | Operation::Fence { .. } => false,
    }
}

/// Returns the resolution of a performed operation. The answer about a leader is part of the class
/// even where only one answer is possible.
#[inline]
pub(crate) fn resolution(operation: &Operation, outcome: Outcome, reply: Reply) -> Resolution {
    match operation {
        Operation::Leads { .. } => Resolution::of_answer(reply.to_answer()),
        _ => operation.resolution(outcome),
    }
}
