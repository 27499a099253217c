//! Messages: sends to ports and receives from them.

use super::State;
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::{Received, Reply};
use crate::model::operation::{Operation, Ports};
use crate::object::port::{Message, Port, can_receive};

impl State {
    pub(crate) fn port(&self, port: ObjectId) -> &Port {
        self.execution.objects[port.index()].port()
    }

    pub(super) fn port_mut(&mut self, port: ObjectId) -> &mut Port {
        self.execution.objects[port.index()].port_mut()
    }

    /// Returns every message that a receive could take now, each with its port and the position of
    /// that port in the list.
    pub(crate) fn messages(
        &self,
        ports: Ports,
    ) -> impl Iterator<Item = (usize, ObjectId, Message)> + '_ {
        self.each_port(ports).flat_map(|(position, port)| {
            let heads = self.port(port).heads();
            heads.map(move |message| (position, port, message))
        })
    }

    fn port_count(&self, ports: Ports) -> usize {
        match ports {
            Ports::One(_) => 1,
            Ports::Any(list) => self.execution.port_lists[list.index()].len(),
        }
    }

    fn port_at(&self, ports: Ports, position: usize) -> ObjectId {
        match ports {
            Ports::One(port) => port,
            Ports::Any(list) => self.execution.port_lists[list.index()][position],
        }
    }

    fn each_port(&self, ports: Ports) -> impl Iterator<Item = (usize, ObjectId)> + Clone + '_ {
        let positions = 0..self.port_count(ports);
        positions.map(move |position| (position, self.port_at(ports, position)))
    }

    /// True when a waiting receive from these ports is enabled.
    pub(super) fn can_receive(&self, ports: Ports) -> bool {
        can_receive(self.each_port(ports).map(|(_, port)| self.port(port)))
    }

    /// Registers the thread as waiting at the ports, so that their changes enable it.
    pub(super) fn wait_at(&mut self, ports: Ports, thread: ThreadId) {
        for position in 0..self.port_count(ports) {
            let port = self.port_at(ports, position);
            self.calls[port.index()].waiting.push(thread);
        }
    }

    /// Removes the thread from those that wait at the ports.
    pub(super) fn leave(&mut self, ports: Ports, thread: ThreadId) {
        for position in 0..self.port_count(ports) {
            let port = self.port_at(ports, position);
            self.calls[port.index()]
                .waiting
                .retain(|&other| other != thread);
        }
    }

    pub(super) fn send(&mut self, port: ObjectId, id: EventId) -> (Option<EventId>, Reply) {
        let (number, previous) = self.port_mut(port).send(id);
        self.wake(port);
        (previous, Reply::value(u64::from(number)))
    }

    pub(super) fn receive(
        &mut self,
        ports: Ports,
        id: EventId,
        outcome: Outcome,
    ) -> (Option<EventId>, Reply) {
        self.leave(ports, id.thread);
        let chosen = self.messages(ports).nth(outcome.message());
        let Some((position, port, message)) = chosen else {
            let Operation::Receive { wait, .. } = *self.pending(id.thread) else {
                unreachable!("only a receive receives");
            };
            let found = if wait {
                Received::Closed
            } else {
                Received::Empty
            };
            return (None, Reply::received(found));
        };
        self.port_mut(port).take(message, id);
        self.wake(port);
        let found = Received::Message {
            port: position as u32,
            number: message.number,
        };
        (Some(message.send), Reply::received(found))
    }

    pub(super) fn delivered(&mut self, port: ObjectId, sender: ThreadId) -> Option<EventId> {
        self.leave(Ports::One(port), sender);
        self.port(port).delivered(sender)
    }

    pub(super) fn hang_up(&mut self, port: ObjectId) {
        self.port_mut(port).hang_up();
        self.wake(port);
    }

    /// Enables or disables the threads that wait at the port.
    fn wake(&mut self, port: ObjectId) {
        let waiting = std::mem::take(&mut self.calls[port.index()].waiting);
        for &thread in &waiting {
            let can_go_on = match *self.pending(thread) {
                Operation::Receive { ports, wait } => !wait || self.can_receive(ports),
                Operation::Delivered { port } => self.port(port).delivered(thread).is_some(),
                _ => unreachable!("nothing else waits at a port"),
            };
            self.set_enabled(thread, can_go_on);
        }
        self.calls[port.index()].waiting = waiting;
    }
}
