//! Messages in a graph: reads-from of receives, and the arrival order of ordered ports.
//!
//! A receive takes an untaken message: in an ordered port the first to arrive, in any other the
//! first of any sender. So the choice lies with the receive in an unordered port, and with the
//! position of the send in arrival order in an ordered one. Either way a new send may revisit older
//! receives.
//!
//! Only one thread at a time receives from a port, so happens-before orders all receives from one
//! port.

use super::{Graph, NodeKind};
use crate::base::ids::{EventId, ObjectId};
use crate::memory::clock::covers;
use crate::model::operation::Ports;
use crate::object::Object;
use crate::object::port::heads;

/// Events at a port.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortLog {
    /// In arrival order if the port is ordered, else in insertion order.
    pub(crate) sends: Vec<EventId>,
    /// In insertion order.
    pub(crate) receives: Vec<EventId>,
    pub(crate) hang_ups: Vec<EventId>,
    /// During linearization: number of sends placed.
    pub(crate) placed: usize,
}

impl PortLog {
    pub(crate) fn is_unused(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty() && self.hang_ups.is_empty()
    }

    /// Makes this the part of `whole` that `keep` selects.
    pub(crate) fn restrict(&mut self, whole: &PortLog, keep: impl Fn(EventId) -> bool) {
        let copy = |to: &mut Vec<EventId>, from: &[EventId]| {
            to.clear();
            to.extend(from.iter().copied().filter(|&id| keep(id)));
        };
        copy(&mut self.sends, &whole.sends);
        copy(&mut self.receives, &whole.receives);
        copy(&mut self.hang_ups, &whole.hang_ups);
    }
}

impl Graph {
    pub(crate) fn port(&self, port: ObjectId) -> &PortLog {
        &self.object(port).port
    }

    pub(crate) fn port_mut(&mut self, port: ObjectId) -> &mut PortLog {
        &mut self.object_mut(port).port
    }

    pub(crate) fn is_ordered(&self, port: ObjectId) -> bool {
        matches!(self.object(port).state(), Object::Port(port) if port.is_ordered())
    }

    /// Returns the ports of a receive.
    pub(crate) fn port_list<'a>(&'a self, ports: &'a Ports) -> &'a [ObjectId] {
        match ports {
            Ports::One(port) => std::slice::from_ref(port),
            Ports::Any(list) => &self.port_lists[list.index()],
        }
    }

    /// Adds a new event to the logs of its ports.
    pub(crate) fn record_at_ports(&mut self, id: EventId, kind: NodeKind) {
        match kind {
            NodeKind::Send { port } => self.port_mut(port).sends.push(id),
            NodeKind::HangUp { port, .. } => self.port_mut(port).hang_ups.push(id),
            NodeKind::Receive { ports, .. } => {
                for position in 0..self.port_list(&ports).len() {
                    let port = self.port_list(&ports)[position];
                    self.port_mut(port).receives.push(id);
                }
            }
            _ => {}
        }
    }

    /// Reverts `record_at_ports` for the last event, which has left the log of its thread.
    pub(crate) fn unrecord_at_ports(
        &mut self,
        id: EventId,
        kind: NodeKind,
        source: Option<EventId>,
    ) {
        match kind {
            NodeKind::Send { port } => self.port_mut(port).sends.retain(|&other| other != id),
            NodeKind::HangUp { port, .. } => {
                self.port_mut(port).hang_ups.pop();
            }
            NodeKind::Receive { ports, .. } => {
                for position in 0..self.port_list(&ports).len() {
                    let port = self.port_list(&ports)[position];
                    self.port_mut(port).receives.pop();
                }
                if let Some(send) = source {
                    self.node_mut(send).source = None;
                }
            }
            _ => {}
        }
    }

    /// Clears the receivers of sends whose receive is not kept, in a graph just restricted.
    pub(crate) fn forget_lost_receives(&mut self, keep: impl Fn(EventId) -> bool) {
        for index in 0..self.objects.len() {
            for position in 0..self.objects[index].port.sends.len() {
                let send = self.objects[index].port.sends[position];
                let node = self.node_mut(send);
                node.source = node.source.filter(|&receive| keep(receive));
            }
        }
    }

    /// Changes the message that a receive takes; `None` for no message.
    pub(crate) fn take_message(&mut self, receive: EventId, send: Option<EventId>) {
        if let Some(old) = std::mem::replace(&mut self.node_mut(receive).source, send) {
            self.node_mut(old).source = None;
        }
        if let Some(send) = send {
            self.node_mut(send).source = Some(receive);
        }
    }

    /// Moves a send to this position in arrival order.
    pub(crate) fn arrive(&mut self, port: ObjectId, send: EventId, position: usize) {
        let sends = &mut self.port_mut(port).sends;
        sends.retain(|&other| other != send);
        sends.insert(position, send);
    }

    /// Returns the number of messages taken from an ordered port; they are the first in arrival
    /// order.
    pub(crate) fn taken(&self, port: ObjectId) -> usize {
        let sends = &self.port(port).sends;
        sends.partition_point(|&send| self.node(send).source.is_some())
    }

    /// Returns the messages of an unordered port that could be taken now.
    pub(crate) fn heads(&self, port: ObjectId) -> Vec<EventId> {
        let sends = self.port(port).sends.iter().copied();
        let left: Vec<EventId> = sends
            .filter(|&send| self.node(send).source.is_none())
            .collect();
        heads(&left, false, |send| send.thread).copied().collect()
    }

    /// True when every earlier message of the same sender is taken before the receive.
    pub(crate) fn may_take(&self, receive: EventId, send: EventId) -> bool {
        let NodeKind::Send { port } = self.node(send).kind else {
            return false;
        };
        let NodeKind::Receive { ports, .. } = self.node(receive).kind else {
            return false;
        };
        let known = self.causal(receive);
        let taken_before = |earlier: EventId| {
            let taken = self.node(earlier).source;
            taken.is_some_and(|by| by != receive && covers(known, by))
        };
        // Backwards: a send that may not be taken mostly has one just before it that is not taken.
        self.port_list(&ports).contains(&port)
            && self.port(port).sends.iter().rev().all(|&other| {
                other.thread != send.thread || other.index >= send.index || taken_before(other)
            })
    }

    /// True when the send is inserted as the search's first choice, given the kept events.
    pub(crate) fn is_maximal_send(
        &self,
        send: EventId,
        port: ObjectId,
        kept: impl Fn(EventId) -> bool,
    ) -> bool {
        let is_last = || {
            let sends = &self.port(port).sends;
            let place = sends.iter().rposition(|&other| other == send);
            let later = place.map_or(0, |place| place + 1);
            !sends[later..].iter().any(|&other| kept(other))
        };
        !self.node(send).source.is_some_and(&kept) && (!self.is_ordered(port) || is_last())
    }

    /// True when the receive is inserted as the search's first choice, given the kept events.
    pub(crate) fn is_maximal_receive(
        &self,
        receive: EventId,
        ports: Ports,
        wait: bool,
        kept: impl Fn(EventId) -> bool,
    ) -> bool {
        let node = self.node(receive);
        let ports = self.port_list(&ports);
        let ordered = self.is_ordered(ports[0]);
        match node.source {
            None if wait => true,
            None => {
                let sends = &self.port(ports[0]).sends;
                !sends[node.value as usize..].iter().any(|&send| kept(send))
            }
            Some(send) if ordered => kept(send),
            Some(send) => {
                let older = |&&other: &&EventId| self.node(other).stamp < self.node(send).stamp;
                let there = |&other: &EventId| {
                    let taken = self.node(other).source;
                    kept(other) && !taken.is_some_and(|by| by != receive && kept(by))
                };
                kept(send)
                    && !ports.iter().any(|&port| {
                        let sends = self.port(port).sends.iter();
                        sends.take_while(older).any(there)
                    })
            }
        }
    }

    /// Returns the hang-ups that precede a receive which found its ports closed.
    pub(crate) fn hang_ups(&self, ports: Ports) -> impl Iterator<Item = EventId> + '_ {
        let port = match ports {
            Ports::One(port) => port,
            Ports::Any(list) => self.port_lists[list.index()][0],
        };
        self.port(port).hang_ups.iter().copied()
    }

    /// True when a send can be next in a linearization. At an ordered port it must be the next to
    /// arrive, and every receive that found the port empty before it must be placed.
    pub(crate) fn is_send_ready(
        &self,
        port: ObjectId,
        send: EventId,
        is_placed: impl Fn(EventId) -> bool,
    ) -> bool {
        if !self.is_ordered(port) {
            return true;
        }
        let log = self.port(port);
        let found_empty_before = |&receive: &EventId| {
            let node = self.node(receive);
            is_placed(receive)
                || node.source.is_some()
                || matches!(node.kind, NodeKind::Receive { wait: true, .. })
                || node.value as usize > log.placed
        };
        log.sends.get(log.placed) == Some(&send) && log.receives.iter().all(found_empty_before)
    }
}
