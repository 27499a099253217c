//! Extending a graph by sends and receives of messages.

use super::frame::{Branch, Change, Frame};
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::memory::clock::covers;
use crate::model::operation::Ports;
use crate::search::graph::NodeKind;

impl Frame {
    /// Inserts a send, last in arrival order. In an ordered port every other position behind the
    /// taken messages is a branch, unless a send there happens before this one.
    pub(crate) fn push_send(&mut self, thread: ThreadId, port: ObjectId) {
        let send = self.push_step(thread, NodeKind::Send { port });
        self.graph.set_clocks(send);
        self.push_revisits(send);
        if !self.graph.is_ordered(port) {
            return;
        }
        let last = self.graph.port(port).sends.len() - 1;
        let first = self.graph.taken(port).max(self.arrival_floor(send, port));
        for position in first..last {
            self.branch(Change::Deliver { send, position });
        }
    }

    /// Returns the number of sends of an ordered port, in arrival order, up to the last one that
    /// happens before the event.
    fn arrival_floor(&self, event: EventId, port: ObjectId) -> usize {
        let Some(index) = event.index.checked_sub(1) else {
            return 0;
        };
        let before = self.graph.hb(EventId { index, ..event });
        let sends = &self.graph.port(port).sends;
        let last = sends.iter().rposition(|&send| covers(before, send));
        last.map_or(0, |place| place + 1)
    }

    /// Inserts a receive; returns the send that it takes.
    pub(crate) fn push_receive(
        &mut self,
        thread: ThreadId,
        ports: Ports,
        wait: bool,
    ) -> Option<EventId> {
        let first = self.graph.port_list(&ports)[0];
        let ordered = self.graph.is_ordered(first);
        let receive = self.push_step(thread, NodeKind::Receive { ports, wait });
        let source = if ordered {
            let taken = self.graph.taken(first);
            self.graph.node_mut(receive).value = taken as u64;
            let source = self.graph.port(first).sends.get(taken).copied();
            if source.is_some() && !wait && self.arrival_floor(receive, first) <= taken {
                self.branch(Change::Take {
                    receive,
                    send: None,
                });
            }
            source
        } else {
            self.first_of_all(receive, ports)
        };
        self.graph.take_message(receive, source);
        self.graph.set_clocks(receive);
        source
    }

    /// Inserts the wait for the thread's last message at the port to be taken.
    pub(crate) fn push_delivered(&mut self, thread: ThreadId, port: ObjectId) {
        let id = self.push_step(thread, NodeKind::Delivered { port });
        let graph = &mut self.graph;
        let sends = graph.port(port).sends.iter();
        let last = sends.filter(|send| send.thread == thread).max();
        let taken_by = last.and_then(|&send| graph.node(send).source);
        graph.node_mut(id).source = taken_by;
        graph.set_clocks(id);
    }

    /// Returns the oldest message that a receive from unordered ports could take; every other is a
    /// branch.
    fn first_of_all(&mut self, receive: EventId, ports: Ports) -> Option<EventId> {
        let graph = &self.graph;
        let ports = graph.port_list(&ports);
        let heads = || ports.iter().flat_map(|&port| graph.heads(port));
        let oldest = heads().min_by_key(|&send| graph.node(send).stamp);
        let keep = graph.order.len();
        let others = heads().filter(|&send| Some(send) != oldest);
        let branches = others.map(|send| {
            let send = Some(send);
            Branch {
                keep,
                change: Change::Take { receive, send },
            }
        });
        self.branches.extend(branches);
        oldest
    }
}
