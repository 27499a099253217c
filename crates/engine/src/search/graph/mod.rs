//! An execution graph under construction: events with program order, reads-from and coherence.
//!
//! Events are stored per thread in program order, and also in insertion order: the search undoes
//! and restricts graphs by insertion order. A call and its completion are two consecutive events of
//! the calling thread. So are the read and the write of an atomic update. In both cases the second
//! is inserted, deleted and revisited on its own. `clocks.rs` has the clocks, `undo.rs` deletes
//! events.
//!
//! Identifiers are the graph's own. They are stable from run to run, whereas the world numbers
//! threads, locations and objects anew in each run.

mod barriers;
mod clocks;
pub(crate) mod linearise;
mod ports;
mod undo;

use super::reduce::Reductions;
use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::Resolution;
use crate::base::rng::mix;
use crate::memory::{Strength, Weakness};
use crate::model::operation::{Ports, Update};
use crate::object::synchronization::Synchronization;
use crate::object::{Call, Object, condvar, parker};
use barriers::BarrierLog;
use ports::PortLog;

#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeKind {
    Begin,
    End {
        location: LocationId,
    },
    Spawn {
        child: ThreadId,
    },
    Join {
        target: ThreadId,
    },
    /// An event without effect on other threads: a yield or a sleep.
    Local,
    /// An access whose value decides nothing, by [`Reductions::paths`].
    LeftOut,
    /// A fence; the node has its ordering.
    Fence,
    Choose {
        alternatives: u32,
    },
    Read {
        location: LocationId,
    },
    /// The read of an atomic update. If the update writes, the next event of the thread is its
    /// write.
    ReadForUpdate {
        location: LocationId,
        update: Update,
    },
    Write {
        location: LocationId,
    },
    /// The write of an atomic update; immediately follows its source in coherence order.
    WriteOfUpdate {
        location: LocationId,
    },
    Send {
        port: ObjectId,
    },
    Receive {
        ports: Ports,
        wait: bool,
    },
    /// Waits until the thread's last message at the port is taken; the source is the receive that
    /// took it.
    Delivered {
        port: ObjectId,
    },
    HangUp {
        port: ObjectId,
        location: LocationId,
    },
    /// Arrival at a barrier; the source is the pass of its group.
    Arrive {
        barrier: ObjectId,
    },
    /// Pass of a barrier; the previous event of the thread is its arrival. Without a source it is
    /// the pass of its group, else the source is the pass.
    Pass {
        barrier: ObjectId,
    },
    /// Question whether a thread led the group whose pass is the source.
    AskLeader {
        barrier: ObjectId,
    },
    Call {
        object: ObjectId,
        call: Call,
    },
    /// A silent call; ordered after the completion that opened it and nothing else.
    Silent {
        object: ObjectId,
        call: Call,
    },
    /// Completion of the call that is the previous event of the thread.
    Completion {
        object: ObjectId,
    },
}

impl NodeKind {
    pub(crate) fn reads(&self) -> Option<LocationId> {
        match *self {
            NodeKind::Read { location } | NodeKind::ReadForUpdate { location, .. } => {
                Some(location)
            }
            _ => None,
        }
    }

    /// True for events whose order only a memory model decides: reads, writes except thread ends,
    /// and messages.
    pub(crate) fn is_memory(&self) -> bool {
        match self {
            NodeKind::End { .. } => false,
            NodeKind::Send { .. } | NodeKind::Receive { .. } => true,
            _ => self.reads().is_some() || self.writes().is_some(),
        }
    }

    pub(crate) fn is_message(&self) -> bool {
        matches!(self, NodeKind::Send { .. } | NodeKind::Receive { .. })
    }

    /// True when the thread lets others run: a yield, a sleep, or a wait with a timeout.
    pub(crate) fn is_pause(&self) -> bool {
        match self {
            NodeKind::Local => true,
            NodeKind::Call { call, .. } => matches!(
                call,
                Call::Condvar(condvar::Call::Wake { timeout: true })
                    | Call::Parker(parker::Call::Park { timeout: true })
            ),
            _ => false,
        }
    }

    /// Returns the number of resolutions of the event if it reads this value.
    pub(crate) fn outcomes(&self, value: Option<u64>) -> u32 {
        match (self, value) {
            (NodeKind::ReadForUpdate { update, .. }, Some(value)) => update.outcomes(value),
            _ => 1,
        }
    }

    /// Returns the location written. The end of a thread writes a location of its own.
    pub(crate) fn writes(&self) -> Option<LocationId> {
        match *self {
            NodeKind::Write { location }
            | NodeKind::WriteOfUpdate { location }
            | NodeKind::HangUp { location, .. }
            | NodeKind::End { location } => Some(location),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Position in insertion order.
    pub(crate) stamp: u32,
    /// Start of a range of insertion order that ends with this event and holds only earlier events
    /// of its thread.
    pub(crate) run: u32,
    /// Reads-from: the write of a read (`None` is the initial value), the send of a receive; for a
    /// send, the receive that takes it.
    pub(crate) source: Option<EventId>,
    pub(crate) outcome: Resolution,
    /// Of a write, the value; of a completion or a pass, its position among those of its object.
    /// Of a question about a leader, the thread asked about; of a receive from an ordered port, the
    /// number of messages taken before.
    pub(crate) value: u64,
    /// Of a write: true when the value is unknown, because the program has not written it yet.
    pub(crate) is_unknown: bool,
    /// Of a completion: true when no older call could have been completed instead at insertion.
    /// Deleting events never makes this false.
    pub(crate) oldest: bool,
    /// Of a write: cached position in coherence order.
    pub(crate) place: u32,
    /// During linearization: number of reads of this write that are not placed.
    pub(crate) unread: u32,
    /// Ordering of an access or a fence, and ordering of a failed update.
    pub(crate) strength: Strength,
    pub(crate) failure: Strength,
}

impl Node {
    /// Returns the value of a write, if it is known.
    pub(crate) fn written(&self) -> Option<u64> {
        (!self.is_unknown).then_some(self.value)
    }

    /// Sets the value of a write.
    pub(crate) fn set_written(&mut self, value: Option<u64>) {
        self.is_unknown = value.is_none();
        self.value = value.unwrap_or_default();
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadLog {
    pub(crate) nodes: Vec<Node>,
    /// Source location of each event, for diagnostics; may be longer than `nodes`.
    pub(crate) sites: Vec<Option<SiteId>>,
    pub(crate) spawned_by: Option<EventId>,
    /// Source location of the spawn.
    pub(crate) place: Option<SiteId>,
    pub(crate) depth: u32,
    /// Random sort key among siblings, if their order is random.
    pub(crate) key: u64,
    pub(crate) live: bool,
    /// Number of events that are pauses.
    pub(crate) pauses: u32,
    /// Location that the end of the thread writes.
    pub(crate) ended: Option<LocationId>,
    /// All clocks of all events; see `clocks.rs`.
    pub(crate) clocks: Vec<u32>,
    /// During linearization: number of events placed.
    pub(crate) placed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LocationLog {
    pub(crate) initial: u64,
    /// In coherence order.
    pub(crate) writes: Vec<EventId>,
    /// In insertion order.
    pub(crate) reads: Vec<EventId>,
    /// True when the location belongs to the end of a thread and must not be reused.
    pub(crate) reserved: bool,
    /// Joined `hb` clocks of all reads and writes so far.
    pub(crate) accesses: Vec<u32>,
    /// By thread: number of reads, from the first, that its latest write causally depends on.
    pub(crate) known_reads: Vec<u32>,
    /// During linearization: number of writes placed, and number of reads of the initial value not
    /// placed.
    pub(crate) placed: usize,
    pub(crate) unread: u32,
}

/// States that are not in use. A copy has none.
#[derive(Debug, Default)]
pub(crate) struct SpareStates(Vec<Object>);

impl Clone for SpareStates {
    fn clone(&self) -> Self {
        SpareStates::default()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectLog {
    /// State before each completion, and after the last.
    pub(crate) states: Vec<Object>,
    /// States of completions that were removed, for their memory.
    pub(crate) spare: SpareStates,
    pub(crate) completions: Vec<EventId>,
    /// Synchronizes-with effects of each completion.
    pub(crate) synchronizations: Vec<Synchronization>,
    /// In insertion order.
    pub(crate) calls: Vec<EventId>,
    /// During linearization: number of completions placed.
    pub(crate) placed: usize,
    /// Events at the object if it is a port.
    pub(crate) port: PortLog,
    /// Events at the object if it is a barrier.
    pub(crate) barrier: BarrierLog,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) threads: Vec<ThreadLog>,
    /// Threads in an order that depends on the graph alone: parents before children, siblings by
    /// age or by a random key.
    pub(crate) canonical: Vec<ThreadId>,
    /// All events in insertion order.
    pub(crate) order: Vec<EventId>,
    pub(crate) locations: Vec<LocationLog>,
    pub(crate) objects: Vec<ObjectLog>,
    /// Lists of ports that receives use.
    pub(crate) port_lists: Vec<Vec<ObjectId>>,
    pub(crate) reductions: Reductions,
    /// Seed of the order of siblings; 0 for the order of their creation.
    pub(crate) shuffle: u64,
    /// Source location and orderings of the event that is inserted next.
    pub(crate) site: Option<SiteId>,
    pub(crate) strength: Strength,
    pub(crate) failure: Strength,
    /// True for a weak graph: its operations are weak under RC11, `hb` is happens-before, and each
    /// event has more clocks.
    pub(crate) weak: bool,
    /// Weakness of the graph's operations, and perhaps of events that were removed from it.
    pub(crate) weakness: Weakness,
    /// Number of events for which [`NodeKind::is_memory`] holds.
    pub(crate) memory: u32,
    /// Number of arrivals at barriers.
    pub(crate) arrivals: u32,
    /// Number of sends and receives.
    pub(crate) messages: u32,
    /// Number of entries of a clock; at least the number of threads.
    pub(crate) width: usize,
}

impl LocationLog {
    /// Creates a location with these writes in coherence order.
    pub(crate) fn written(initial: u64, reserved: bool, writes: Vec<EventId>) -> Self {
        LocationLog {
            initial,
            reserved,
            writes,
            ..LocationLog::default()
        }
    }

    pub(crate) fn is_reserved(&self) -> bool {
        self.reserved
    }
}

impl ObjectLog {
    /// Returns the state after all completions.
    pub(crate) fn state(&self) -> &Object {
        self.states.last().expect("an object has a state")
    }

    /// Returns a copy of it.
    fn copy_of_state(&mut self) -> Object {
        match self.spare.0.pop() {
            Some(mut copy) => {
                copy.clone_from(self.state());
                copy
            }
            None => self.state().clone(),
        }
    }

    /// Removes the last completion.
    fn pop_completion(&mut self) {
        self.completions.pop();
        self.synchronizations.pop();
        self.spare.0.extend(self.states.pop());
    }
}

impl Graph {
    /// Creates a graph with the main thread and no event.
    pub(crate) fn new(reductions: Reductions) -> Self {
        let mut graph = Graph {
            width: 4,
            reductions,
            ..Graph::default()
        };
        graph.add_thread(None);
        graph
    }

    /// Orders siblings by a key drawn from this seed, or by age if it is 0. The search needs a
    /// fixed order of threads, but not a particular one.
    pub(crate) fn shuffled(self, shuffle: u64) -> Self {
        Graph { shuffle, ..self }
    }

    pub(crate) fn node(&self, id: EventId) -> &Node {
        &self.threads[id.thread.index()].nodes[id.index as usize]
    }

    /// Returns the source location of an event. Of the two events of a call or an update, the first
    /// has it.
    pub(crate) fn site(&self, id: EventId) -> Option<SiteId> {
        let second = matches!(
            self.node(id).kind,
            NodeKind::Completion { .. } | NodeKind::Pass { .. } | NodeKind::WriteOfUpdate { .. }
        );
        let sites = &self.threads[id.thread.index()].sites;
        let position = id.index as usize - usize::from(second);
        sites.get(position).copied().flatten()
    }

    pub(crate) fn node_mut(&mut self, id: EventId) -> &mut Node {
        &mut self.threads[id.thread.index()].nodes[id.index as usize]
    }

    pub(crate) fn location(&self, location: LocationId) -> &LocationLog {
        &self.locations[location.index()]
    }

    pub(crate) fn location_mut(&mut self, location: LocationId) -> &mut LocationLog {
        &mut self.locations[location.index()]
    }

    pub(crate) fn object(&self, object: ObjectId) -> &ObjectLog {
        &self.objects[object.index()]
    }

    pub(crate) fn object_mut(&mut self, object: ObjectId) -> &mut ObjectLog {
        &mut self.objects[object.index()]
    }

    /// Returns the last event of a thread.
    pub(crate) fn tail(&self, thread: ThreadId) -> Option<(EventId, &Node)> {
        let nodes = &self.threads[thread.index()].nodes;
        let index = nodes.len().checked_sub(1)?;
        Some((
            EventId {
                thread,
                index: index as u32,
            },
            &nodes[index],
        ))
    }

    /// True when the last event of the thread is a call or an arrival.
    pub(crate) fn is_waiting(&self, thread: ThreadId) -> bool {
        let last = self.tail(thread).map(|(_, node)| node.kind);
        matches!(last, Some(NodeKind::Call { .. } | NodeKind::Arrive { .. }))
    }

    /// Returns the write of an update that writes, given its read; `None` for other events.
    #[inline]
    pub(crate) fn write_of(&self, read: EventId) -> Option<EventId> {
        let nodes = &self.threads[read.thread.index()].nodes;
        let index = read.index + 1;
        let next = nodes.get(index as usize)?;
        matches!(next.kind, NodeKind::WriteOfUpdate { .. }).then_some(EventId { index, ..read })
    }

    /// Returns the event at which the operation of this one is performed: of the write of an update, the read.
    pub(crate) fn step_of(&self, event: EventId) -> EventId {
        match self.node(event).kind {
            NodeKind::WriteOfUpdate { .. } => EventId {
                index: event.index - 1,
                ..event
            },
            _ => event,
        }
    }

    /// Returns the call that the thread waits for, if its last event is one.
    pub(crate) fn pending_call(&self, thread: ThreadId) -> Option<(EventId, ObjectId, Call)> {
        match self.tail(thread)? {
            (
                id,
                &Node {
                    kind: NodeKind::Call { object, call },
                    ..
                },
            ) => Some((id, object, call)),
            _ => None,
        }
    }

    /// Returns the location that the end of the thread writes.
    pub(crate) fn ended(&self, thread: ThreadId) -> LocationId {
        self.threads[thread.index()]
            .ended
            .expect("every line has its location")
    }

    pub(crate) fn end_of(&self, thread: ThreadId) -> Option<EventId> {
        self.location(self.ended(thread)).writes.first().copied()
    }

    /// Returns the value that a read with this source takes, if it is known.
    pub(crate) fn value(&self, location: LocationId, source: Option<EventId>) -> Option<u64> {
        match source {
            None => Some(self.location(location).initial),
            Some(write) => self.node(write).written(),
        }
    }

    /// Returns the position of a write in coherence order, counted from 1; 0 is the initial value.
    pub(crate) fn coherence(&self, location: LocationId, write: Option<EventId>) -> usize {
        let Some(write) = write else { return 0 };
        let writes = &self.location(location).writes;
        let last_seen = self.node(write).place as usize;
        if writes.get(last_seen) == Some(&write) {
            return 1 + last_seen;
        }
        let position = writes.iter().rposition(|&other| other == write);
        1 + position.expect("the write is in the graph")
    }

    /// Adds the creation of a thread.
    pub(crate) fn spawn(&mut self, thread: ThreadId, place: SiteId) -> ThreadId {
        let index = self.threads[thread.index()].nodes.len() as u32;
        let child = self.add_thread(Some(EventId { thread, index }));
        self.threads[child.index()].place = Some(place);
        let id = self.push(thread, NodeKind::Spawn { child });
        self.set_clocks(id);
        child
    }

    fn add_thread(&mut self, spawned_by: Option<EventId>) -> ThreadId {
        let index = match self.threads.iter().position(|log| !log.live) {
            Some(index) => index,
            None => {
                self.locations.push(LocationLog {
                    reserved: true,
                    ..LocationLog::default()
                });
                let ended = Some(LocationId::new(self.locations.len() - 1));
                self.threads.push(ThreadLog {
                    ended,
                    ..ThreadLog::default()
                });
                self.threads.len() - 1
            }
        };
        if self.threads.len() > self.width {
            self.widen();
        }
        let id = ThreadId::new(index);
        self.revive(id, spawned_by);
        id
    }

    /// Makes the thread part of the graph, after the existing siblings with the same key.
    pub(crate) fn revive(&mut self, id: ThreadId, spawned_by: Option<EventId>) {
        let (depth, key, position) = match spawned_by {
            None => (0, self.shuffle, 0),
            Some(event) => {
                let key = self.key_of_child(event);
                let (depth, position) = self.place_of_child(event.thread, key);
                (depth, key, position)
            }
        };
        self.canonical.insert(position, id);
        let log = &mut self.threads[id.index()];
        log.key = key;
        log.live = true;
        log.depth = depth;
        log.spawned_by = spawned_by;
    }

    /// Returns the sort key, among its siblings, of the thread that this event creates.
    fn key_of_child(&self, spawned_by: EventId) -> u64 {
        let parent = self.threads[spawned_by.thread.index()].key;
        match self.shuffle {
            0 => 0,
            shuffle => mix(shuffle ^ mix(parent ^ u64::from(spawned_by.index))),
        }
    }

    /// Returns depth and canonical position of a new child of `parent`: after the descendants of
    /// all siblings that do not have a larger key.
    fn place_of_child(&self, parent: ThreadId, key: u64) -> (u32, usize) {
        let log = |thread: ThreadId| &self.threads[thread.index()];
        let at = self
            .canonical
            .iter()
            .position(|&t| t == parent)
            .expect("the parent is live");
        let depth = log(parent).depth + 1;
        let comes_after = |&thread: &ThreadId| {
            log(thread).depth < depth || log(thread).depth == depth && log(thread).key > key
        };
        let behind = self.canonical[at + 1..].iter().position(comes_after);
        (depth, behind.map_or(self.canonical.len(), |n| at + 1 + n))
    }

    /// Appends an event to its thread and to insertion order. The caller sets its position in
    /// coherence or completion order, and its clocks.
    pub(crate) fn push(&mut self, thread: ThreadId, kind: NodeKind) -> EventId {
        let stamp = self.order.len() as u32;
        let id = EventId {
            thread,
            index: self.threads[thread.index()].nodes.len() as u32,
        };
        let run = self.run_before(stamp, id);
        let ThreadLog { nodes, sites, .. } = &mut self.threads[thread.index()];
        match sites.get_mut(nodes.len()) {
            Some(site) => *site = self.site,
            None => {
                if sites.len() < nodes.len() {
                    sites.resize(nodes.len(), None);
                }
                sites.push(self.site);
            }
        }
        nodes.push(Node {
            kind,
            stamp,
            run,
            source: None,
            outcome: Resolution::FIRST,
            value: 0,
            is_unknown: false,
            unread: 0,
            oldest: false,
            place: 0,
            strength: self.strength,
            failure: self.failure,
        });
        self.order.push(id);
        self.note(id, kind);
        id
    }

    /// Adds a new event to every log that it belongs to.
    pub(crate) fn note(&mut self, id: EventId, kind: NodeKind) {
        self.memory += u32::from(kind.is_memory());
        self.messages += u32::from(kind.is_message());
        self.threads[id.thread.index()].pauses += u32::from(kind.is_pause());
        if let Some(location) = kind.reads() {
            self.location_mut(location).reads.push(id);
        }
        match kind {
            NodeKind::Call { object, .. } => self.object_mut(object).calls.push(id),
            _ => {
                self.record_at_ports(id, kind);
                self.record_at_barrier(id, kind);
            }
        }
    }

    /// Returns the value of [`Node::run`] for an event. A moved completion may be inserted before
    /// earlier events of its thread.
    pub(crate) fn run_before(&self, stamp: u32, id: EventId) -> u32 {
        match (stamp as usize).checked_sub(1).map(|last| self.order[last]) {
            Some(last) if last.thread == id.thread && last.index < id.index => self.node(last).run,
            _ => stamp,
        }
    }

    /// Completes a call as the next completion of its object.
    pub(crate) fn push_completion(&mut self, call: EventId, outcome: Resolution) -> EventId {
        let NodeKind::Call { object, .. } = self.node(call).kind else {
            unreachable!("only calls are completed");
        };
        let id = self.push(call.thread, NodeKind::Completion { object });
        self.finish_completion(id, object, outcome);
        id
    }

    fn finish_completion(&mut self, id: EventId, object: ObjectId, outcome: Resolution) {
        let call = EventId {
            index: id.index - 1,
            ..id
        };
        let NodeKind::Call { call, .. } = self.node(call).kind else {
            unreachable!("a completion follows its call");
        };
        let log = self.object_mut(object);
        let position = log.completions.len() as u64;
        log.completions.push(id);
        let mut state = log.copy_of_state();
        let reply = state.apply(call, id.thread, outcome.outcome());
        log.synchronizations
            .push(state.synchronization(call, reply));
        log.states.push(state);
        let node = self.node_mut(id);
        node.outcome = outcome;
        node.value = position;
    }

    /// Makes the last completion of an object complete another call. It keeps its position in
    /// insertion order.
    pub(crate) fn move_completion(&mut self, stamp: u32, call: EventId, outcome: Resolution) {
        let old = self.order[stamp as usize];
        let removed = self.threads[old.thread.index()]
            .nodes
            .pop()
            .expect("it is the last");
        let NodeKind::Completion { object } = removed.kind else {
            unreachable!("only completions are moved");
        };
        let log = self.object_mut(object);
        debug_assert_eq!(log.completions.last(), Some(&old));
        log.pop_completion();
        let id = EventId {
            index: call.index + 1,
            ..call
        };
        // Its neighbours in insertion order belong to another thread.
        let moved = Node {
            run: stamp,
            oldest: false,
            ..removed
        };
        self.threads[id.thread.index()].nodes.push(moved);
        self.order[stamp as usize] = id;
        self.finish_completion(id, object, outcome);
    }

    /// Removes a write from the coherence order of its location.
    pub(crate) fn unplace(&mut self, location: LocationId, write: EventId) {
        let writes = &mut self.location_mut(location).writes;
        if let Some(position) = writes.iter().rposition(|&other| other == write) {
            writes.remove(position);
        }
    }

    /// Inserts a write at this position of its location's coherence order.
    pub(crate) fn place(&mut self, location: LocationId, write: EventId, position: usize) {
        self.location_mut(location).writes.insert(position, write);
        self.node_mut(write).place = position as u32;
    }

    /// True when a write at this position would not separate an atomic update from its source.
    pub(crate) fn may_place(&self, location: LocationId, position: usize) -> bool {
        match self.location(location).writes.get(position) {
            Some(&next) => !matches!(self.node(next).kind, NodeKind::WriteOfUpdate { .. }),
            None => true,
        }
    }

    /// True when no event uses this location, so that it can be reused.
    pub(crate) fn is_free_location(&self, index: usize) -> bool {
        let log = &self.locations[index];
        !log.reserved && log.writes.is_empty() && log.reads.is_empty()
    }
}
