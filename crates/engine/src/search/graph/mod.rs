//! An execution as a partial order, while the search is building it.
//!
//! Events are kept per thread in program order, with the order in which they were inserted beside
//! it: the search undoes and restricts graphs by that order. A call and its completion are two
//! neighbouring events of the calling thread, and so are the read and the write of an atomic
//! update; in both cases the second belongs to the first but is inserted, deleted and revisited on
//! its own. Clocks are in `clocks.rs`, deleting events is in `undo.rs`.
//!
//! Identifiers here are the graph's own. They survive from run to run, whereas the running world
//! numbers threads, locations and objects afresh each time.

mod barriers;
mod clocks;
pub(crate) mod linearise;
mod ports;
mod undo;

use super::reduce::Reductions;
use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::base::rng::mix;
use crate::memory::Strength;
use crate::model::operation::{Ports, Update};
use crate::object::passing::Passing;
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
    /// Touches nothing that others can see: a yield, a sleep.
    Local,
    /// Its strength is the node's.
    Fence,
    Choose {
        alternatives: u32,
    },
    Read {
        location: LocationId,
    },
    /// The read of an atomic update. If it writes, the next event of the thread is its write.
    ReadForUpdate {
        location: LocationId,
        update: Update,
    },
    Write {
        location: LocationId,
    },
    /// The write of an atomic update: directly after its source in coherence order.
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
    /// The previous event of the thread at the port is a send, and its source took that.
    Delivered {
        port: ObjectId,
    },
    HangUp {
        port: ObjectId,
        location: LocationId,
    },
    /// To come to a barrier. Its source is the meeting of its group.
    Arrive {
        barrier: ObjectId,
    },
    /// To go on from a barrier; the previous event of the thread is that it came. Without a source it
    /// is the meeting of the group, else its source is.
    Pass {
        barrier: ObjectId,
    },
    /// To ask about the leader of the group whose meeting is its source.
    AskLeader {
        barrier: ObjectId,
    },
    Call {
        object: ObjectId,
        call: Call,
    },
    /// A silent call, which comes after the completion that opened it and nothing else.
    Silent {
        object: ObjectId,
        call: Call,
    },
    /// The previous event of the thread is the call it completes.
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

    /// Whether it takes part in what only a model of memory decides: reads, writes but for ends, and
    /// messages.
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

    /// Whether the thread gives others a chance: it yields, sleeps, or waits no longer than some time.
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

    /// How many ways it can turn out if it reads this value.
    pub(crate) fn outcomes(&self, value: u64) -> u32 {
        match self {
            NodeKind::ReadForUpdate { update, .. } => update.outcomes(value),
            _ => 1,
        }
    }

    /// An end is a write too: of the fact that the thread has ended.
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
    /// From this position on, insertion order has events of this thread only that come before this
    /// one in the thread, up to this one.
    pub(crate) run: u32,
    /// For a read, the write it takes its value from; `None` is the initial value. For a receive,
    /// the send whose message it takes; for a send, the receive that takes it.
    pub(crate) source: Option<EventId>,
    pub(crate) outcome: u32,
    /// For a write, the value; for a completion or the meeting of a group, its position among those
    /// of its object; for a question about a leader, of whom; for a
    /// receive from an ordered port, how many messages were taken before.
    pub(crate) value: u64,
    /// For a completion: when it was inserted, no older call could have been completed instead.
    /// Deleting events never makes this untrue.
    pub(crate) oldest: bool,
    /// For a write, where it was last seen in coherence order.
    pub(crate) place: u32,
    /// While the graph is put in a line: how many reads of this write are still to come.
    pub(crate) unread: u32,
    /// What an access or a fence does besides, and what a failed update does.
    pub(crate) strength: Strength,
    pub(crate) failure: Strength,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadLog {
    pub(crate) nodes: Vec<Node>,
    /// Where in the source each event is that was inserted on its own, for messages; may have more
    /// entries than there are events.
    pub(crate) sites: Vec<Option<SiteId>>,
    pub(crate) spawned_by: Option<EventId>,
    /// Where the thread was created.
    pub(crate) place: Option<SiteId>,
    pub(crate) depth: u32,
    /// Where it stands among its siblings, if that is drawn.
    pub(crate) key: u64,
    pub(crate) live: bool,
    /// How many of the events are pauses.
    pub(crate) pauses: u32,
    /// Written by the thread's end.
    pub(crate) ended: Option<LocationId>,
    /// Several for each event; see `clocks.rs`.
    pub(crate) clocks: Vec<u32>,
    /// While the graph is put in a line: how many events are placed.
    pub(crate) placed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LocationLog {
    pub(crate) initial: u64,
    /// In coherence order.
    pub(crate) writes: Vec<EventId>,
    /// In insertion order.
    pub(crate) reads: Vec<EventId>,
    /// Belongs to a thread's end, so it is never handed out for anything else.
    pub(crate) reserved: bool,
    /// Joined `before` clocks of all reads and writes so far.
    pub(crate) accesses: Vec<u32>,
    /// By thread: how many reads, from the first, its latest write is known to depend on.
    pub(crate) known_reads: Vec<u32>,
    /// While the graph is put in a line: how many writes are placed, and how many reads of the
    /// initial value are still to come.
    pub(crate) placed: usize,
    pub(crate) unread: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectLog {
    /// Before each completion, and after the last.
    pub(crate) states: Vec<Object>,
    pub(crate) completions: Vec<EventId>,
    /// What each completion passes on.
    pub(crate) passings: Vec<Passing>,
    /// In insertion order.
    pub(crate) calls: Vec<EventId>,
    /// While the graph is put in a line: how many completions are placed.
    pub(crate) placed: usize,
    /// If it is a port.
    pub(crate) port: PortLog,
    /// If it is a barrier.
    pub(crate) barrier: BarrierLog,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) threads: Vec<ThreadLog>,
    /// The threads of the graph in an order that depends on the graph alone: creators before the
    /// created, siblings by age or as drawn.
    pub(crate) canonical: Vec<ThreadId>,
    /// All events in insertion order.
    pub(crate) order: Vec<EventId>,
    pub(crate) locations: Vec<LocationLog>,
    pub(crate) objects: Vec<ObjectLog>,
    /// Lists of ports that receives look at.
    pub(crate) port_lists: Vec<Vec<ObjectId>>,
    pub(crate) reductions: Reductions,
    /// How the order of siblings is drawn; by age if it is 0.
    pub(crate) shuffle: u64,
    /// Where in the source what is inserted next is, and what it does besides reading and writing.
    pub(crate) site: Option<SiteId>,
    pub(crate) strength: Strength,
    pub(crate) failure: Strength,
    /// Whether threads may see different things: then `before` is what happens before, and there are
    /// more clocks.
    pub(crate) weak: bool,
    /// How many events read or write memory, an end aside, or pass messages.
    pub(crate) memory: u32,
    /// How many times threads came to barriers.
    pub(crate) arrivals: u32,
    /// How many messages were sent or looked for.
    pub(crate) messages: u32,
    /// Entries of a clock; at least the number of lines.
    pub(crate) width: usize,
}

impl LocationLog {
    /// A location with these writes.
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
    /// The object's state after all completions.
    pub(crate) fn state(&self) -> &Object {
        self.states.last().expect("an object has a state")
    }
}

impl Graph {
    /// A graph with the main thread and no event.
    pub(crate) fn new(reductions: Reductions) -> Self {
        let mut graph = Graph {
            width: 4,
            reductions,
            ..Graph::default()
        };
        graph.add_thread(None);
        graph
    }

    /// The same graph, in which siblings are in an order drawn from this number, or by age if it is 0.
    /// The search needs a fixed order of threads, but any will do.
    pub(crate) fn shuffled(self, shuffle: u64) -> Self {
        Graph { shuffle, ..self }
    }

    pub(crate) fn node(&self, id: EventId) -> &Node {
        &self.threads[id.thread.index()].nodes[id.index as usize]
    }

    /// Where in the source an event is; of the two events of a call or an update, the first knows.
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

    /// The last event of a thread.
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

    /// Whether a thread has called an object or come to a barrier, and waits.
    pub(crate) fn is_waiting(&self, thread: ThreadId) -> bool {
        let last = self.tail(thread).map(|(_, node)| node.kind);
        matches!(last, Some(NodeKind::Call { .. } | NodeKind::Arrive { .. }))
    }

    /// The call a thread waits for, if its last event is one.
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

    /// The location that a thread's end writes.
    pub(crate) fn ended(&self, thread: ThreadId) -> LocationId {
        self.threads[thread.index()]
            .ended
            .expect("every line has its location")
    }

    pub(crate) fn end_of(&self, thread: ThreadId) -> Option<EventId> {
        self.location(self.ended(thread)).writes.first().copied()
    }

    /// The value a read with this source sees.
    pub(crate) fn value(&self, location: LocationId, source: Option<EventId>) -> u64 {
        match source {
            None => self.location(location).initial,
            Some(write) => self.node(write).value,
        }
    }

    /// Where a write stands in coherence order, counted from 1; 0 is the initial value.
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

    /// The thread is part of the graph, as the youngest child of its creator.
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

    /// Where a thread that this event creates stands among its siblings: the last if it is by age.
    fn key_of_child(&self, spawned_by: EventId) -> u64 {
        let parent = self.threads[spawned_by.thread.index()].key;
        match self.shuffle {
            0 => 0,
            shuffle => mix(shuffle ^ mix(parent ^ u64::from(spawned_by.index))),
        }
    }

    /// Depth and canonical position of a new child of `parent`: behind the descendants of all siblings
    /// that do not have a larger key.
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

    /// Adds an event at the end of its thread and of the insertion order. Its place in coherence
    /// or completion order, and its clocks, are given separately.
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
                sites.resize(nodes.len(), None);
                sites.push(self.site);
            }
        }
        nodes.push(Node {
            kind,
            stamp,
            run,
            source: None,
            outcome: 0,
            value: 0,
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

    /// Notes a new event wherever it belongs.
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

    /// Where the run of a thread begins that has the event with this stamp. A completion that was
    /// moved may stand before events that it comes after in its thread.
    pub(crate) fn run_before(&self, stamp: u32, id: EventId) -> u32 {
        match (stamp as usize).checked_sub(1).map(|last| self.order[last]) {
            Some(last) if last.thread == id.thread && last.index < id.index => self.node(last).run,
            _ => stamp,
        }
    }

    /// Completes a call as the next one on its object.
    pub(crate) fn push_completion(&mut self, call: EventId, outcome: u32) -> EventId {
        let NodeKind::Call { object, .. } = self.node(call).kind else {
            unreachable!("only calls are completed");
        };
        let id = self.push(call.thread, NodeKind::Completion { object });
        self.finish_completion(id, object, outcome);
        id
    }

    fn finish_completion(&mut self, id: EventId, object: ObjectId, outcome: u32) {
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
        let mut state = log.state().clone();
        let reply = state.apply(call, id.thread, outcome);
        log.passings.push(state.passing(call, reply));
        log.states.push(state);
        let node = self.node_mut(id);
        node.outcome = outcome;
        node.value = position;
    }

    /// Lets the last completion of an object complete another call instead. It keeps its place in
    /// insertion order.
    pub(crate) fn move_completion(&mut self, stamp: u32, call: EventId, outcome: u32) {
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
        log.completions.pop();
        log.passings.pop();
        log.states.pop();
        let id = EventId {
            index: call.index + 1,
            ..call
        };
        // Its neighbours in insertion order are another thread's.
        let moved = Node {
            run: stamp,
            oldest: false,
            ..removed
        };
        self.threads[id.thread.index()].nodes.push(moved);
        self.order[stamp as usize] = id;
        self.finish_completion(id, object, outcome);
    }

    /// Takes a write out of its location's coherence order.
    pub(crate) fn unplace(&mut self, location: LocationId, write: EventId) {
        let writes = &mut self.location_mut(location).writes;
        if let Some(position) = writes.iter().rposition(|&other| other == write) {
            writes.remove(position);
        }
    }

    /// Puts a write at this position of its location's coherence order.
    pub(crate) fn place(&mut self, location: LocationId, write: EventId, position: usize) {
        self.location_mut(location).writes.insert(position, write);
        self.node_mut(write).place = position as u32;
    }

    /// Whether a write may stand at this position without tearing an atomic update apart.
    pub(crate) fn may_place(&self, location: LocationId, position: usize) -> bool {
        match self.location(location).writes.get(position) {
            Some(&next) => !matches!(self.node(next).kind, NodeKind::WriteOfUpdate { .. }),
            None => true,
        }
    }

    /// Whether nothing in the graph uses this location, so that it can be handed out.
    pub(crate) fn is_free_location(&self, index: usize) -> bool {
        let log = &self.locations[index];
        !log.reserved && log.writes.is_empty() && log.reads.is_empty()
    }
}
