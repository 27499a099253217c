//! One finished or running execution: what happened, in the order it happened.
//!
//! Everything after the run (checkers, coverage, schedules, reports) reads this and nothing else.
//! Two executions belong to the same *class* when every receive has the same source, whatever the
//! order in which unrelated events were run; [`Execution::class`] names the class exactly and
//! [`Execution::fingerprint`] names it in 64 bits.

use super::access::{Access, Conflict};
use super::event::Event;
use super::fault::{MemoryError, Panic};
use super::location::Location;
use super::naming::Naming;
use super::operation::{Operation, Ports};
use super::schedule::ThreadPath;
use crate::base::ids::{CellId, EventId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::Reply;
use crate::object::Object;

/// What is known of a thread.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// The event that created it; `None` for the main thread.
    pub spawned_by: Option<EventId>,
    /// How many threads its creator had made before it.
    pub ordinal: u32,
    /// The name the program gave it.
    pub name: Option<String>,
    /// Its last event, once it ended.
    pub end: Option<EventId>,
    children: u32,
}

/// A thread that looks at the same things again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spinning {
    /// The thread.
    pub thread: ThreadId,
    /// Its events of one round, in order.
    pub events: Vec<EventId>,
    /// Where the round begins.
    pub site: SiteId,
}

/// One execution of the program under test.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Every event in the order it was performed.
    pub events: Vec<Event>,
    /// Every thread, by [`ThreadId`].
    pub threads: Vec<ThreadInfo>,
    /// Every synchronisation object in its last state, by [`ObjectId`](crate::ObjectId).
    pub objects: Vec<Object>,
    /// The same in the state they had when they were first used.
    pub(crate) first_states: Vec<Object>,
    /// Every memory location in its last state, by [`LocationId`](crate::LocationId).
    pub locations: Vec<Location>,
    /// What the program calls its objects.
    pub object_names: Naming,
    /// What the program calls its locations.
    pub location_names: Naming,
    /// Lists of ports that receives listened to, by [`PortListId`](crate::PortListId).
    pub port_lists: Vec<Vec<ObjectId>>,
    /// After a deadlock or too many events, by [`ThreadId`]: what each thread waits for that has not
    /// ended and cannot go on.
    pub pending: Vec<Option<(Operation, SiteId)>>,
    /// After a livelock: the threads that look at the same things again and again.
    pub spinning: Vec<Spinning>,
    /// The threads that ended by a panic, in the order the panics began.
    pub panics: Vec<Panic>,
    /// How many cells were used.
    pub cells: usize,
    /// Every access of a cell, if they are kept; see [`World::keep_accesses`](crate::World::keep_accesses).
    pub accesses: Vec<(CellId, Access)>,
    /// The first two accesses of a cell that should not have been as they were.
    pub conflict: Option<Conflict>,
    /// The first use of memory that was not there.
    pub memory_error: Option<MemoryError>,
    /// Whether the program said that it is over, whatever its other threads do.
    pub is_over: bool,
    /// True when the execution was stopped after the end of the program, because the threads that could
    /// go on did nothing but poll.
    pub left_polling: bool,
    /// How often another thread went on although the one that ran could have; see
    /// [`State::interrupts`](crate::State::interrupts).
    pub preemptions: u32,
    fingerprint: u64,
    /// The part of it that says how stores follow each other.
    coherence: u64,
}

/// One decision of a class: an event, and the source and outcome it had.
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
    /// Makes the execution empty, keeping its memory.
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
        self.spinning.clear();
        self.panics.clear();
        self.cells = 0;
        self.accesses.clear();
        self.conflict = None;
        self.memory_error = None;
        self.is_over = false;
        self.left_polling = false;
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

    /// A store follows another write than it seemed at first.
    pub(crate) fn correct(&mut self, before: u64, now: u64) {
        for sum in [&mut self.fingerprint, &mut self.coherence] {
            *sum = sum.wrapping_sub(before).wrapping_add(now);
        }
    }

    /// A 64-bit name of this execution's class: equal for executions of one class, and different
    /// for two classes but for a chance of one in 2^64.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The same without the order in which stores follow each other: equal for executions in which
    /// every receive has the same source.
    pub fn reads_from_fingerprint(&self) -> u64 {
        self.fingerprint.wrapping_sub(self.coherence)
    }

    /// The exact name of this execution's class: every decision with its source and outcome, in
    /// an order that does not depend on how it was run.
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

    /// The ports that a receive looks at.
    pub fn port_list<'a>(&'a self, ports: &'a Ports) -> &'a [ObjectId] {
        match ports {
            Ports::One(port) => std::slice::from_ref(port),
            Ports::Any(list) => &self.port_lists[list.index()],
        }
    }

    /// The name of the group that a thread left a barrier with, by the event with which it did, and
    /// who was in it.
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

    /// The thread's place in the tree of creations, which no schedule changes.
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

    /// The thread at this place in the tree of creations, if it exists by now.
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

/// Whether the operation's source or outcome tells classes apart.
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

/// The resolution of a performed operation. The answer about a leader is part of the class even where it
/// is not free.
#[inline]
pub(crate) fn resolution(operation: &Operation, outcome: Outcome, reply: Reply) -> Resolution {
    match operation {
        Operation::Leads { .. } => Resolution::of_answer(reply.to_answer()),
        _ => operation.resolution(outcome),
    }
}
