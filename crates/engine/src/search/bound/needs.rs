//! Predecessors of each step of an outline, and the steps that may unblock others.

use super::outline::{Outline, Step, Waits, next, previous_of};
use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::object::{Call, Object};
use crate::search::graph::NodeKind;

impl Outline<'_> {
    /// Returns the step of the event.
    pub(super) fn step(&self, event: EventId, kind: NodeKind) -> Step {
        let node = self.graph.node(event);
        let mut needs = Vec::new();
        let mut need = |earlier: EventId| {
            if earlier.thread != event.thread {
                needs.push(self.done(earlier));
            }
        };
        let mut waits = Waits::Never;
        let mut releases = false;
        match kind {
            NodeKind::Begin => {
                let log = &self.graph.threads[event.thread.index()];
                log.spawned_by.into_iter().for_each(need);
            }
            NodeKind::Join { target } => {
                waits = Waits::ForNeeds;
                self.graph.end_of(target).into_iter().for_each(need);
            }
            NodeKind::Completion { object } => {
                let log = self.graph.object(object);
                if let Some(previous) = node.value.checked_sub(1) {
                    need(log.completions[previous as usize]);
                }
                if let NodeKind::Call { call, .. } = self.graph.node(previous_of(event)).kind {
                    let by = event.thread;
                    waits = Waits::ForObject { object, call, by };
                }
                releases = self.opens_for_another(event, object);
            }
            NodeKind::Pass { barrier } => {
                let group = self.group(previous_of(event));
                waits = Waits::ForGroup { barrier, group };
                releases = true;
            }
            NodeKind::Silent { .. } | NodeKind::Delivered { .. } => {
                waits = Waits::ForNeeds;
                node.source.into_iter().for_each(need);
            }
            NodeKind::Send { port } => {
                self.before_send(event, port, need);
                releases = true;
            }
            NodeKind::Receive { ports, wait } => {
                if wait {
                    waits = Waits::ForMessage(event);
                }
                match node.source {
                    Some(send) => need(send),
                    None if wait => self.graph.hang_ups(ports).for_each(need),
                    None => {}
                }
                releases = true;
            }
            NodeKind::Read { .. } => node.source.into_iter().for_each(need),
            NodeKind::ReadForUpdate { location, .. } => {
                node.source.into_iter().for_each(&mut need);
                let write = next(event);
                let writes = self.has(write)
                    && matches!(self.graph.node(write).kind, NodeKind::WriteOfUpdate { .. });
                if writes {
                    self.before_write(write, location, need);
                }
            }
            NodeKind::Write { location } => self.before_write(event, location, need),
            NodeKind::HangUp { location, .. } => {
                self.before_write(event, location, need);
                releases = true;
            }
            NodeKind::End { location } => {
                self.before_write(event, location, need);
                releases = self.is_joined_early(event.thread);
            }
            _ => {}
        }
        Step {
            needs,
            waits,
            releases,
            makes_way: matches!(kind, NodeKind::Local),
        }
    }

    /// Reports the write before it in coherence order, and all reads of that write.
    fn before_write(&self, write: EventId, location: LocationId, mut need: impl FnMut(EventId)) {
        if self.weak {
            return;
        }
        let log = self.graph.location(location);
        let place = self.graph.coherence(location, Some(write)) - 1;
        let mut earlier = log.writes[..place].iter().copied();
        let previous = earlier.rfind(|&other| self.has(other));
        previous.into_iter().for_each(&mut need);
        let reads = log.reads.iter().copied().filter(|&read| self.has(read));
        reads
            .filter(|&read| self.graph.node(read).source == previous)
            .for_each(need);
    }

    /// Reports the message that arrived before it at an ordered port, and all receives that found
    /// the port empty before it.
    fn before_send(&self, send: EventId, port: ObjectId, mut need: impl FnMut(EventId)) {
        if !self.graph.is_ordered(port) {
            return;
        }
        let log = self.graph.port(port);
        let arrived = log.sends.iter().position(|&other| other == send);
        let place = arrived.expect("a message arrives");
        let mut earlier = log.sends[..place].iter().copied();
        let previous = earlier.rfind(|&other| self.has(other));
        previous.into_iter().for_each(&mut need);
        let came_before = |&receive: &EventId| {
            let node = self.graph.node(receive);
            let polls = matches!(node.kind, NodeKind::Receive { wait: false, .. });
            polls && node.source.is_none() && node.value as usize <= place
        };
        let receives = log.receives.iter().copied();
        receives
            .filter(|&receive| self.has(receive))
            .filter(came_before)
            .for_each(need);
    }

    /// True when the completion opens its object for a pending call of another thread.
    fn opens_for_another(&self, completion: EventId, object: ObjectId) -> bool {
        let log = self.graph.object(object);
        let position = self.graph.node(completion).value as usize;
        let (before, after) = (&log.states[position], &log.states[position + 1]);
        let opens = |call: Call, by: ThreadId| !before.open(call, by) && after.open(call, by);
        let mut calls = log.calls.iter().filter(|&&id| self.has(id));
        calls.any(|&id| {
            let NodeKind::Call { call, .. } = self.graph.node(id).kind else {
                return false;
            };
            id.thread != completion.thread && opens(call, id.thread)
        }) || matches!(after, Object::Condvar(_))
    }

    /// True when a thread joins `target` and then does more than join others and end. A thread that
    /// does no more can run last, so it is never preempted.
    fn is_joined_early(&self, target: ThreadId) -> bool {
        (0..self.graph.threads.len())
            .map(ThreadId::new)
            .any(|thread| {
                let nodes = &self.graph.threads[thread.index()].nodes;
                let nodes = &nodes[..self.length(thread) as usize];
                let joins =
                    |kind: &NodeKind| matches!(kind, NodeKind::Join { target: it } if *it == target);
                let joined = nodes.iter().position(|node| joins(&node.kind));
                joined.is_some_and(|joined| {
                    !nodes[joined..].iter().all(|node| self.is_last(&node.kind))
                })
            })
    }

    /// True when no other thread can observe the event.
    fn is_last(&self, kind: &NodeKind) -> bool {
        match *kind {
            NodeKind::Join { .. } => true,
            NodeKind::End { location } => {
                let joins = |kind: &NodeKind| matches!(kind, NodeKind::Join { target } if self.graph.ended(*target) == location);
                let mut lines = self.graph.threads.iter();
                self.graph.location(location).reads.is_empty()
                    && !lines.any(|log| log.nodes.iter().any(|node| joins(&node.kind)))
            }
            _ => false,
        }
    }
}
