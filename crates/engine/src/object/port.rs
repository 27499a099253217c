//! A port: a queue to which several threads send and from which one thread at a time receives.
//!
//! A port is not a process of its own. A send is a send event, and a receive is a receive event
//! that chooses among the messages in the port. A port has no calls, so sends without a receive in
//! between stay unordered.
//!
//! An *ordered* port delivers the messages of all threads in the order of their sends. Any other
//! port does so only for the messages of one thread; those of different threads may overtake each
//! other, as on a network (reachability testing, Carver and Lei).

use super::synchronization::Synchronization;
use super::{Machine, Object, Request};
use crate::base::ids::{EventId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, Words, never};

/// The port's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    ordered: bool,
    /// Number of senders, if that is known.
    senders: Option<u32>,
    /// In the order of their sends.
    messages: Vec<Message>,
    sent: u32,
    last_sent: Option<EventId>,
    /// By thread, the latest receive of one of its messages.
    taken: Vec<(ThreadId, EventId)>,
}

/// A message that has not been received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) send: EventId,
    pub(crate) number: u32,
}

/// A port has no calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {}

never! { Call }

impl Request for Call {
    fn label(self) -> &'static str {
        match self {}
    }
}

impl Machine for Port {
    type Call = Call;

    fn write_initial(&self, out: &mut String) {
        self.ordered.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(match words.read()? {
            // A graph contains the hang-ups, so it does not need the number of senders.
            true => Port::ordered(0),
            false => Port::unordered(),
        })
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {}
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        match call {}
    }

    fn synchronization(&self, call: Call, _reply: Reply) -> Synchronization {
        match call {}
    }
}

impl Object {
    /// Returns the port of a port operation.
    pub(crate) fn port(&self) -> &Port {
        match self {
            Object::Port(port) => port,
            other => panic!("raddle: a message for {other:?}; please report this"),
        }
    }

    /// Returns the port of a port operation.
    pub(crate) fn port_mut(&mut self) -> &mut Port {
        match self {
            Object::Port(port) => port,
            other => panic!("raddle: a message for {other:?}; please report this"),
        }
    }
}

impl Port {
    /// Creates a port in which messages of different threads may overtake each other.
    pub fn unordered() -> Self {
        Port {
            ordered: false,
            senders: None,
            messages: Vec::new(),
            sent: 0,
            last_sent: None,
            taken: Vec::new(),
        }
    }

    /// Creates a port in which messages keep their order, with this number of senders.
    pub fn ordered(senders: u32) -> Self {
        Port {
            ordered: true,
            senders: Some(senders),
            ..Port::unordered()
        }
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// True when no sender is left.
    pub(crate) fn is_closed(&self) -> bool {
        self.senders == Some(0)
    }

    /// Adds a sender, if their number is known.
    pub(crate) fn add_sender(&mut self) {
        self.senders = self.senders.map(|senders| senders + 1);
    }

    /// Removes a sender, if their number is known.
    pub(crate) fn hang_up(&mut self) {
        self.senders = self.senders.map(|senders| senders.saturating_sub(1));
    }

    /// Adds a message; returns its number, and the send before it in an ordered port.
    pub(crate) fn send(&mut self, send: EventId) -> (u32, Option<EventId>) {
        let number = self.sent;
        self.sent += 1;
        self.messages.push(Message { send, number });
        let previous = self.last_sent.replace(send);
        (number, previous.filter(|_| self.ordered))
    }

    /// Returns the messages that could be received now.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Message> + '_ {
        heads(&self.messages, self.ordered, |message| message.send.thread).copied()
    }

    /// Returns the sends of all messages in the port.
    pub(crate) fn left(&self) -> impl Iterator<Item = EventId> + '_ {
        self.messages.iter().map(|message| message.send)
    }

    pub(crate) fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    pub(crate) fn take(&mut self, message: Message, receive: EventId) {
        self.messages.retain(|other| other.number != message.number);
        let sender = message.send.thread;
        match self.taken.iter_mut().find(|(thread, _)| *thread == sender) {
            Some((_, last)) => *last = receive,
            None => self.taken.push((sender, receive)),
        }
    }

    /// Returns the receive that took the last message of a thread, unless one of its messages is
    /// still there.
    pub(crate) fn delivered(&self, sender: ThreadId) -> Option<EventId> {
        let waits = self.messages.iter().any(|one| one.send.thread == sender);
        let taken = self.taken.iter().find(|(thread, _)| *thread == sender);
        taken.filter(|_| !waits).map(|&(_, receive)| receive)
    }
}

/// Returns the messages that a receive could take, of those in a port in the order of their sends:
/// in an ordered port the first of all, else the first of each sender.
pub(crate) fn heads<M>(
    messages: &[M],
    ordered: bool,
    sender: impl Fn(&M) -> ThreadId,
) -> impl Iterator<Item = &M> {
    let is_head = move |&(position, message): &(usize, &M)| {
        let mut earlier = messages[..position].iter();
        !earlier.any(|one| ordered || sender(one) == sender(message))
    };
    let all = messages.iter().enumerate();
    all.filter(is_head).map(|(_, message)| message)
}

/// True when a receive from these ports need not wait: some port has a message, or all are closed.
pub(crate) fn can_receive<'p>(mut ports: impl Iterator<Item = &'p Port> + Clone) -> bool {
    ports.clone().any(Port::has_messages) || ports.all(Port::is_closed)
}
