//! A port: some threads leave messages in it, one thread at a time takes them out.
//!
//! A port is no process of its own. To send is a send, to receive is a receive that chooses among
//! the messages that are there. A port has no calls, so sends that are not received in between stay
//! unordered.
//!
//! In an *ordered* port messages of all threads are taken in the order they were sent. In any
//! other port that holds for the messages of one thread only: those of different threads may overtake
//! each other on the way, as on a network (reachability testing, Carver and Lei).

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
    /// In the order they were sent.
    messages: Vec<Message>,
    sent: u32,
    last_sent: Option<EventId>,
    /// The latest receive of a message of each thread.
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
            // A graph has the hang-ups, so that the number of senders is not needed.
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
    /// The port of a port operation.
    pub(crate) fn port(&self) -> &Port {
        match self {
            Object::Port(port) => port,
            other => panic!("raddle: a message for {other:?}; please report this"),
        }
    }

    /// The port of a port operation.
    pub(crate) fn port_mut(&mut self) -> &mut Port {
        match self {
            Object::Port(port) => port,
            other => panic!("raddle: a message for {other:?}; please report this"),
        }
    }
}

impl Port {
    /// A port in which messages of different threads may overtake each other.
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

    /// A port in which messages keep their order, with this number of senders.
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

    /// One more could send.
    pub(crate) fn add_sender(&mut self) {
        self.senders = self.senders.map(|senders| senders + 1);
    }

    /// One fewer could send.
    pub(crate) fn hang_up(&mut self) {
        self.senders = self.senders.map(|senders| senders.saturating_sub(1));
    }

    /// The number of the message, and the message before it in an ordered port.
    pub(crate) fn send(&mut self, send: EventId) -> (u32, Option<EventId>) {
        let number = self.sent;
        self.sent += 1;
        self.messages.push(Message { send, number });
        let previous = self.last_sent.replace(send);
        (number, previous.filter(|_| self.ordered))
    }

    /// The messages that could be taken now.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Message> + '_ {
        heads(&self.messages, self.ordered, |message| message.send.thread).copied()
    }

    /// The sends of all messages that are there.
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

    /// The receive that took the last message of a thread, unless some are still there.
    pub(crate) fn delivered(&self, sender: ThreadId) -> Option<EventId> {
        let waits = self.messages.iter().any(|one| one.send.thread == sender);
        let taken = self.taken.iter().find(|(thread, _)| *thread == sender);
        taken.filter(|_| !waits).map(|&(_, receive)| receive)
    }
}

/// The messages that a receive could take, of those in a port in the order they were sent: the first of
/// all in an ordered port, else the first of each sender.
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

/// True when a receive from these ports need not wait: some port has a message, or none will get one.
pub(crate) fn can_receive<'p>(mut ports: impl Iterator<Item = &'p Port> + Clone) -> bool {
    ports.clone().any(Port::has_messages) || ports.all(Port::is_closed)
}
