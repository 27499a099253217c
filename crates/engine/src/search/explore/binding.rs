//! Bijection between the identifiers of a graph and those of the running world.
//!
//! The world numbers threads, locations and objects by first use in the current run; the graph's
//! identifiers are stable from run to run. Events connect them: when a thread performs the
//! operation that the graph has for it, the objects of the operation are bound to the graph's. If
//! that contradicts an earlier binding, or the operation differs, the program is nondeterministic.

use crate::base::ids::{EventId, LocationId, ObjectId, PortListId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Record};
use crate::model::operation::{Operation, Ports, Update};
use crate::search::graph::{Graph, Node, NodeKind, ObjectLog};
use crate::world::State;

#[derive(Debug, Default)]
pub(crate) struct Binding {
    threads: Names<ThreadId>,
    locations: Names<LocationId>,
    objects: Names<ObjectId>,
    /// First index to try when a new identifier is needed.
    free_location: usize,
    free_object: usize,
    /// By thread of a weak graph: number of its events performed in this run.
    done: Vec<u32>,
    /// By location of a weak graph: greatest position in coherence order of a write performed in
    /// this run.
    last_done: Vec<usize>,
}

/// A bijection of identifiers, indexed both ways.
#[derive(Debug)]
struct Names<Id> {
    to_world: Vec<Option<Id>>,
    to_graph: Vec<Option<Id>>,
}

impl<Id> Default for Names<Id> {
    fn default() -> Self {
        Names {
            to_world: Vec::new(),
            to_graph: Vec::new(),
        }
    }
}

impl<Id: Copy + PartialEq> Names<Id> {
    fn clear(&mut self) {
        self.to_world.clear();
        self.to_graph.clear();
    }

    fn world(&self, graph: usize) -> Option<Id> {
        self.to_world.get(graph).copied().flatten()
    }

    fn graph(&self, world: usize) -> Option<Id> {
        self.to_graph.get(world).copied().flatten()
    }

    /// Binds the two identifiers; returns `false` if one of them is bound to another.
    #[inline]
    fn bind(&mut self, graph: (Id, usize), world: (Id, usize)) -> bool {
        // Both ways were bound together.
        self.world(graph.1) == Some(world.0) || self.bind_new(graph, world)
    }

    #[inline(never)]
    fn bind_new(&mut self, (graph, at): (Id, usize), (world, here): (Id, usize)) -> bool {
        if self.to_world.len() <= at {
            self.to_world.resize(at + 1, None);
        }
        if self.to_graph.len() <= here {
            self.to_graph.resize(here + 1, None);
        }
        *self.to_world[at].get_or_insert(world) == world
            && *self.to_graph[here].get_or_insert(graph) == graph
    }
}

impl Binding {
    /// Starts a run: only the main thread is bound.
    pub(crate) fn reset(&mut self) {
        self.threads.clear();
        self.locations.clear();
        self.objects.clear();
        self.free_location = 0;
        self.free_object = 0;
        self.done.clear();
        self.last_done.clear();
        self.bind_thread(ThreadId::MAIN, ThreadId::MAIN);
    }

    pub(crate) fn bind_thread(&mut self, graph: ThreadId, world: ThreadId) {
        self.threads
            .bind((graph, graph.index()), (world, world.index()));
    }

    pub(crate) fn to_world(&self, thread: ThreadId) -> ThreadId {
        self.threads
            .world(thread.index())
            .expect("its creation has been run")
    }

    pub(crate) fn to_graph(&self, thread: ThreadId) -> ThreadId {
        self.threads
            .graph(thread.index())
            .expect("its creation is in the graph")
    }

    fn bind_location(&mut self, graph: LocationId, world: LocationId) -> bool {
        self.locations
            .bind((graph, graph.index()), (world, world.index()))
    }

    fn bind_object(&mut self, graph: ObjectId, world: ObjectId) -> bool {
        self.objects
            .bind((graph, graph.index()), (world, world.index()))
    }

    /// Returns the graph's identifier of a location, a new one if the graph does not have it.
    pub(crate) fn location(
        &mut self,
        graph: &mut Graph,
        state: &State,
        world: LocationId,
    ) -> LocationId {
        if let Some(known) = self.locations.graph(world.index()) {
            return known;
        }
        let used = |index: usize| self.locations.world(index).is_some();
        let mut index = self.free_location;
        while index < graph.locations.len() && (used(index) || !graph.is_free_location(index)) {
            index += 1;
        }
        self.free_location = index;
        if index == graph.locations.len() {
            graph.locations.push(Default::default());
        }
        graph.locations[index].initial = state.execution().locations[world.index()].initial;
        let name = LocationId::new(index);
        self.bind_location(name, world);
        name
    }

    /// Returns the graph's identifier of an object, a new one if the graph does not have it.
    pub(crate) fn object(&mut self, graph: &mut Graph, state: &State, world: ObjectId) -> ObjectId {
        if let Some(known) = self.objects.graph(world.index()) {
            return known;
        }
        let mut index = self.free_object;
        let used = |log: &ObjectLog| {
            !(log.calls.is_empty() && log.port.is_unused() && log.barrier.is_unused())
        };
        while index < graph.objects.len() && used(&graph.objects[index]) {
            index += 1;
        }
        self.free_object = index + 1;
        if index == graph.objects.len() {
            graph.objects.push(ObjectLog::default());
        }
        let states = &mut graph.objects[index].states;
        states.clear();
        states.push(state.execution().objects[world.index()].clone());
        let name = ObjectId::new(index);
        self.bind_object(name, world);
        name
    }

    /// Returns the graph's identifiers of the ports of a receive.
    pub(crate) fn ports(&mut self, graph: &mut Graph, state: &State, world: Ports) -> Ports {
        let Ports::Any(_) = world else {
            let port = state.execution().port_list(&world)[0];
            return Ports::One(self.object(graph, state, port));
        };
        let names = state.execution().port_list(&world).iter();
        let names: Vec<ObjectId> = names.map(|&port| self.object(graph, state, port)).collect();
        let known = graph.port_lists.iter().position(|list| *list == names);
        Ports::Any(PortListId::new(known.unwrap_or_else(|| {
            graph.port_lists.push(names);
            graph.port_lists.len() - 1
        })))
    }

    /// Returns the outcome, in the running world, with which the thread's receive takes
    /// its message of the graph.
    pub(crate) fn message(
        &self,
        graph: &Graph,
        state: &State,
        thread: ThreadId,
        source: Option<EventId>,
    ) -> Option<Outcome> {
        let Operation::Receive { ports, .. } = *state.pending(thread) else {
            return None;
        };
        let NodeKind::Send { port } = graph.node(source?).kind else {
            return None;
        };
        let sender = self.threads.world(source?.thread.index())?;
        let port = self.objects.world(port.index())?;
        let mut messages = state.messages(ports);
        let position =
            messages.position(|(_, at, message)| at == port && message.send.thread == sender);
        position.map(|position| Outcome::nth(position as u32))
    }

    /// Returns the outcome, in the running world, with which the event passes in its group of the
    /// graph.
    fn group(
        &self,
        graph: &Graph,
        state: &State,
        barrier: ObjectId,
        event: EventId,
    ) -> Option<Outcome> {
        let thread = self.to_world(event.thread);
        let pass = graph.node(event).source.unwrap_or(event);
        let members: Vec<ThreadId> = graph
            .members(pass)
            .filter_map(|one| self.threads.world(one.thread.index()))
            .collect();
        let barrier = self.objects.world(barrier.index())?;
        let number = state.group_of(barrier, thread, &members)?;
        Some(Outcome::nth(number))
    }

    /// Returns the choice that performs the graph's event, or a divergence if the program's pending
    /// operation is another one.
    ///
    /// Values may differ from those of the run that inserted the event: addresses usually do. The graph
    /// takes the values of this run.
    pub(crate) fn replay(
        &mut self,
        graph: &mut Graph,
        state: &State,
        event: EventId,
    ) -> Result<Choice, Box<Divergence>> {
        let thread = self.to_world(event.thread);
        if state.is_enabled(thread) && self.fits(graph, state, event) {
            let node = graph.node(event);
            let outcome = match node.kind {
                NodeKind::Receive { .. } => self.message(graph, state, thread, node.source),
                NodeKind::Pass { barrier } => self.group(graph, state, barrier, event),
                NodeKind::AskLeader { .. } => Some(node.outcome.answer_of(state.outcomes(thread))),
                NodeKind::Read { location }
                | NodeKind::Write { location }
                | NodeKind::HangUp { location, .. } => {
                    Some(Outcome::of_access(self.back(graph, event, location)))
                }
                NodeKind::ReadForUpdate { location, .. } => {
                    let back = self.back(graph, event, location);
                    Some(Outcome::of_update(back, node.outcome))
                }
                _ => Some(node.outcome.outcome()),
            };
            let outcome = outcome.unwrap_or(Outcome::FIRST);
            self.note_done(graph, event);
            return Ok(Choice { thread, outcome });
        }
        Err(self.divergence(graph, state, event))
    }

    /// Returns for a weak graph the number of performed writes that follow the position of a write,
    /// or the source of a read, in coherence order.
    fn back(&self, graph: &Graph, event: EventId, location: LocationId) -> u32 {
        if !graph.weak {
            return 0;
        }
        let node = graph.node(event);
        let of = match node.kind {
            NodeKind::Write { .. } | NodeKind::HangUp { .. } => Some(event),
            _ => node.source,
        };
        let is_done = |&&write: &&EventId| {
            let done = self.done.get(write.thread.index());
            done.is_some_and(|&done| done > write.index)
        };
        debug_assert!(
            of.is_none_or(|of| of == event || is_done(&&of)),
            "a linearization has sources first"
        );
        let last = self.last_done.get(location.index()).copied().unwrap_or(0);
        let later = graph.coherence(location, of)..last;
        let later = graph.location(location).writes.get(later);
        later.map_or(0, |later| later.iter().filter(is_done).count() as u32)
    }

    fn note_done(&mut self, graph: &Graph, event: EventId) {
        if !graph.weak {
            return;
        }
        let thread = event.thread.index();
        if self.done.len() <= thread {
            self.done.resize(thread + 1, 0);
        }
        let next = graph.threads[thread].nodes.get(event.index as usize + 1);
        let writes = next.is_some_and(|next| matches!(next.kind, NodeKind::WriteOfUpdate { .. }));
        self.done[thread] = event.index + 1 + u32::from(writes);
        let index = event.index + u32::from(writes);
        let last = EventId { index, ..event };
        if let Some(location) = graph.node(last).kind.writes() {
            if self.last_done.len() <= location.index() {
                self.last_done.resize(location.index() + 1, 0);
            }
            let place = graph.coherence(location, Some(last));
            let last_done = &mut self.last_done[location.index()];
            *last_done = place.max(*last_done);
        }
    }

    /// Binds the calls that wait at the end of the replayed part to those of the graph.
    pub(crate) fn bind_waiting_calls(
        &mut self,
        graph: &Graph,
        state: &State,
    ) -> Result<(), Box<Divergence>> {
        for &thread in &graph.canonical {
            let Some((event, node)) = graph.tail(thread) else {
                continue;
            };
            let fits = match (node.kind, *state.pending(self.to_world(thread))) {
                (
                    NodeKind::Call { object, call },
                    Operation::Call {
                        object: here,
                        call: now,
                    },
                ) => call == now && self.bind_object(object, here),
                (NodeKind::Arrive { barrier }, Operation::Meet { barrier: here }) => {
                    self.bind_object(barrier, here)
                }
                (kind, _) => !matches!(kind, NodeKind::Call { .. } | NodeKind::Arrive { .. }),
            };
            if !fits {
                return Err(self.divergence(graph, state, event));
            }
        }
        Ok(())
    }

    /// True when the pending operation is that of the graph's event; sets the values of the event.
    fn fits(&mut self, graph: &mut Graph, state: &State, event: EventId) -> bool {
        let Node { kind, source, .. } = *graph.node(event);
        let thread = self.to_world(event.thread);
        // The operation is matched in place: most of its fields are not needed.
        match (kind, state.pending(thread)) {
            (NodeKind::Begin, Operation::Begin) | (NodeKind::End { .. }, Operation::End) => true,
            (NodeKind::Local, Operation::Yield | Operation::Sleep { .. })
            | (NodeKind::Fence, Operation::Fence { .. }) => true,
            (NodeKind::LeftOut, _) => graph.reductions.leaves_out(state, thread),
            (NodeKind::Spawn { child }, Operation::Spawn) => {
                self.bind_thread(child, ThreadId::new(state.execution().threads.len()));
                true
            }
            (NodeKind::Join { target }, &Operation::Join { target: here }) => {
                self.to_world(target) == here
            }
            (NodeKind::Choose { alternatives }, &Operation::Choose { alternatives: now }) => {
                alternatives == now
            }
            (NodeKind::Choose { alternatives }, Operation::Chance { .. }) => alternatives == 2,
            (NodeKind::Read { location }, &Operation::IsFinished { target }) => {
                location == graph.ended(self.to_graph(target))
            }
            (NodeKind::Read { location }, &Operation::Load { location: here, .. }) => {
                self.use_location(graph, state, location, here)
            }
            (
                NodeKind::Write { location },
                &Operation::Store {
                    location: here,
                    value,
                    ..
                },
            ) => {
                graph.node_mut(event).set_written(value);
                self.use_location(graph, state, location, here)
            }
            (
                NodeKind::ReadForUpdate { location, update },
                &Operation::Update {
                    location: here,
                    update: now,
                    ..
                },
            ) => {
                self.use_location(graph, state, location, here)
                    && update.is_like(&now)
                    && self.updates(graph, state, event, here, now)
            }
            (
                NodeKind::Silent { object, call },
                &Operation::Call {
                    object: here,
                    call: now,
                },
            ) => call == now && self.bind_object(object, here),
            (NodeKind::Pass { barrier }, &Operation::Meet { barrier: here }) => {
                self.bind_object(barrier, here)
                    && self.group(graph, state, barrier, event).is_some()
            }
            (
                NodeKind::AskLeader { barrier },
                &Operation::Leads {
                    barrier: here,
                    member,
                    round,
                },
            ) => {
                self.bind_object(barrier, here)
                    && graph.group_of_member(barrier, self.to_graph(member), round) == source
            }
            (NodeKind::Send { port }, &Operation::Send { port: here })
            | (NodeKind::Delivered { port }, &Operation::Delivered { port: here }) => {
                self.bind_object(port, here)
            }
            (
                NodeKind::HangUp { port, location },
                &Operation::HangUp {
                    port: here,
                    location: now,
                },
            ) => self.bind_object(port, here) && self.use_location(graph, state, location, now),
            (
                NodeKind::Receive { ports, wait },
                &Operation::Receive {
                    ports: here,
                    wait: now,
                },
            ) => {
                let (list, now_list) =
                    (graph.port_list(&ports), state.execution().port_list(&here));
                wait == now
                    && list.len() == now_list.len()
                    && (list.iter().zip(now_list))
                        .all(|(&port, &here)| self.bind_object(port, here))
                    && match source {
                        Some(_) => self.message(graph, state, thread, source).is_some(),
                        None => state.messages(here).next().is_none(),
                    }
            }
            (
                NodeKind::Completion { object },
                &Operation::Call {
                    object: here,
                    call: now,
                },
            ) => {
                let call = EventId {
                    index: event.index - 1,
                    ..event
                };
                self.bind_object(object, here)
                    && matches!(graph.node(call).kind, NodeKind::Call { call, .. } if call == now)
            }
            _ => false,
        }
    }

    /// Binds a location and, if it is new in this run, sets its initial value.
    fn use_location(
        &mut self,
        graph: &mut Graph,
        state: &State,
        location: LocationId,
        here: LocationId,
    ) -> bool {
        if self.locations.world(location.index()).is_none() {
            graph.location_mut(location).initial =
                state.execution().locations[here.index()].initial;
        }
        self.bind_location(location, here)
    }

    /// Sets the values of an update; returns `false` if it writes and the graph's does not, or the
    /// converse.
    fn updates(
        &self,
        graph: &mut Graph,
        state: &State,
        read: EventId,
        here: LocationId,
        now: Update,
    ) -> bool {
        let NodeKind::ReadForUpdate { location, update } = &mut graph.node_mut(read).kind else {
            return false;
        };
        *update = now;
        let location = *location;
        let fails = graph.node(read).outcome.fails_spuriously();
        let old = state.value_of(here, self.back(graph, read, location));
        if fails && !now.may_fail_spuriously(old) {
            return false;
        }
        let written = now.apply(old, fails);
        let nodes = &mut graph.threads[read.thread.index()].nodes;
        let next = nodes.get_mut(read.index as usize + 1);
        let next = next.filter(|next| matches!(next.kind, NodeKind::WriteOfUpdate { .. }));
        match (next, written) {
            (Some(write), Some(_)) => {
                write.set_written(written);
                true
            }
            (None, None) => true,
            _ => false,
        }
    }

    fn divergence(&self, graph: &Graph, state: &State, event: EventId) -> Box<Divergence> {
        let thread = self.to_world(event.thread);
        let expected = match graph.node(event).kind {
            NodeKind::Begin => "begin",
            NodeKind::End { .. } => "end",
            NodeKind::Spawn { .. } => "spawn",
            NodeKind::Join { .. } => "join",
            NodeKind::Local => "yield or sleep",
            NodeKind::LeftOut => "access that is left out",
            NodeKind::Fence => "fence",
            NodeKind::Choose { .. } => "choose",
            NodeKind::Read { .. } => "load",
            NodeKind::ReadForUpdate { update, .. } => update.kind.label(),
            NodeKind::WriteOfUpdate { .. } => "atomic update",
            NodeKind::Write { .. } => "store",
            NodeKind::Send { .. } => "send",
            NodeKind::Receive { wait: true, .. } => "receive",
            NodeKind::Receive { wait: false, .. } => "try-receive",
            NodeKind::Delivered { .. } => "delivered",
            NodeKind::HangUp { .. } => "hang-up",
            NodeKind::Arrive { .. } | NodeKind::Pass { .. } => "wait",
            NodeKind::AskLeader { .. } => "is-leader",
            NodeKind::Call { call, .. } | NodeKind::Silent { call, .. } => call.label(),
            NodeKind::Completion { .. } => match graph
                .node(EventId {
                    index: event.index - 1,
                    ..event
                })
                .kind
            {
                NodeKind::Call { call, .. } => call.label(),
                _ => "call",
            },
        };
        Box::new(Divergence {
            from: Record::EarlierRun,
            after: state.execution().events.len(),
            thread: state.execution().path(thread).to_string(),
            expected: expected.to_owned(),
            expected_at: graph.site(event),
            found: (!state.has_ended(thread)).then(|| state.pending(thread).label().to_owned()),
            pending: (!state.has_ended(thread)).then(|| *state.pending(thread)),
            found_at: (!state.has_ended(thread)).then(|| state.pending_site(thread)),
        })
    }
}
