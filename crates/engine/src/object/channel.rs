//! A bounded channel: several senders, one receiver, in order; either side may disconnect.
//!
//! With a buffer, a send waits for room and a receive for a message. Without one (bound 0) a send
//! and a receive complete together, and the first to come waits for the other. The result of a call
//! that does not wait depends on whether the other side *is waiting*, so waiting is part of the
//! channel's state there. A [`Call::Send`] or [`Call::Receive`] that finds no thread on the other
//! side returns at once; the wait is a second call, [`Call::Delivered`] or [`Call::Accept`].

use std::collections::VecDeque;

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Exchange, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The channel's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channel {
    bound: usize,
    /// Number of senders.
    senders: u32,
    has_receiver: bool,
    sent: u32,
    /// Messages in the buffer; without one, messages offered by waiting senders.
    messages: VecDeque<u32>,
    /// Without a buffer: true while the receiver waits, and the message that was handed to it.
    accepts: bool,
    handed: Option<u32>,
}

/// Calls of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Sends, after waiting for room; without a buffer, may only offer the message.
    Send,
    /// Waits until an offered message has been received.
    Delivered(u32),
    /// Sends if no wait is needed.
    TrySend,
    /// Receives, after waiting for a message; without a buffer, may only register the receiver.
    Receive,
    /// Waits for a sender to hand over a message.
    Accept {
        /// True when the wait may time out.
        timeout: bool,
    },
    /// Receives if no wait is needed.
    TryReceive,
    /// Adds a sender.
    Clone,
    /// Removes a sender.
    HangUp,
    /// Removes the receiver.
    Leave,
    /// Refuses further messages; those that were sent can be received.
    Close,
    /// Reads the state.
    Look,
}

tables! {
    Call {
        "send" => Send,
        "delivered" => Delivered(number),
        "try-send" => TrySend,
        "receive" => Receive,
        "accept" => Accept { timeout },
        "try-receive" => TryReceive,
        "clone" => Clone,
        "hang-up" => HangUp,
        "leave" => Leave,
        "close" => Close,
        "look" => Look,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Send => "send",
            Call::Delivered(_) => "delivered",
            Call::TrySend => "try-send",
            Call::Receive => "receive",
            Call::Accept { .. } => "accept",
            Call::TryReceive => "try-receive",
            Call::Clone => "clone",
            Call::HangUp => "hang-up",
            Call::Leave => "leave",
            Call::Close => "close",
            Call::Look => "look",
        }
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::HangUp | Call::Leave | Call::Close)
    }

    fn remark(self, reply: Reply) -> Option<&'static str> {
        let answer = reply.as_exchange()?;
        match (self, answer) {
            (_, Exchange::Disconnected) => Some("disconnected"),
            (_, Exchange::Offered(_)) => Some("waits"),
            (Call::Receive, Exchange::Unmatched) => Some("waits"),
            (Call::TrySend, Exchange::Unmatched) => Some("full"),
            (Call::TryReceive, Exchange::Unmatched) => Some("empty"),
            (Call::Accept { .. }, Exchange::Unmatched) => Some("timed out"),
            _ => None,
        }
    }

    fn changed_nothing(self, reply: Reply) -> bool {
        let tries = matches!(self, Call::TrySend | Call::TryReceive);
        self == Call::Look
            || tries
                && matches!(
                    reply.to_exchange(),
                    Exchange::Unmatched | Exchange::Disconnected
                )
    }

    fn polls(self) -> bool {
        matches!(self, Call::TrySend | Call::TryReceive | Call::Look)
    }
}

impl Channel {
    /// Creates a channel with one sender and a buffer for `bound` messages.
    pub fn new(bound: usize) -> Self {
        Channel {
            bound,
            senders: 1,
            has_receiver: true,
            sent: 0,
            messages: VecDeque::new(),
            accepts: false,
            handed: None,
        }
    }

    fn has_room(&self) -> bool {
        self.messages.len() < self.bound
    }

    /// True when the receiver waits and no message has been handed to it.
    fn is_awaited(&self) -> bool {
        self.accepts && self.handed.is_none()
    }

    fn next_number(&mut self) -> u32 {
        self.sent += 1;
        self.sent - 1
    }

    fn send(&mut self, tries: bool) -> Exchange {
        if !self.has_receiver {
            return Exchange::Disconnected;
        }
        if self.is_awaited() {
            let number = self.next_number();
            self.handed = Some(number);
            return Exchange::Message(number);
        }
        if tries && !self.has_room() {
            return Exchange::Unmatched;
        }
        let number = self.next_number();
        self.messages.push_back(number);
        if self.bound == 0 {
            Exchange::Offered(number)
        } else {
            Exchange::Message(number)
        }
    }

    fn receive(&mut self) -> Exchange {
        match self.messages.pop_front() {
            Some(number) => Exchange::Message(number),
            None if self.senders == 0 => Exchange::Disconnected,
            None => Exchange::Unmatched,
        }
    }
}

impl Machine for Channel {
    type Call = Call;

    fn write_initial(&self, out: &mut String) {
        self.bound.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Channel::new(words.read()?))
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Send => self.bound == 0 || self.has_room() || !self.has_receiver,
            Call::Delivered(number) => !self.messages.contains(&number) || !self.has_receiver,
            Call::Receive => self.bound == 0 || !self.messages.is_empty() || self.senders == 0,
            Call::Accept { timeout } => timeout || self.handed.is_some() || self.senders == 0,
            Call::TrySend | Call::TryReceive | Call::Look => true,
            Call::Clone | Call::HangUp | Call::Leave | Call::Close => true,
        }
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        let answer = match call {
            Call::Send => self.send(false),
            Call::TrySend => self.send(true),
            Call::Delivered(number) => {
                let offered = self.messages.len();
                self.messages.retain(|&other| other != number);
                if self.messages.len() == offered {
                    Exchange::Message(number)
                } else {
                    Exchange::Disconnected
                }
            }
            Call::Receive => {
                let answer = self.receive();
                self.accepts = answer == Exchange::Unmatched;
                answer
            }
            Call::Accept { .. } => {
                self.accepts = false;
                match self.handed.take() {
                    Some(number) => Exchange::Message(number),
                    None => self.receive(),
                }
            }
            Call::TryReceive => self.receive(),
            Call::Clone => {
                self.senders += 1;
                return Reply::DONE;
            }
            Call::HangUp => {
                self.senders = self.senders.saturating_sub(1);
                return Reply::DONE;
            }
            Call::Look => return Reply::DONE,
            Call::Close => {
                self.has_receiver = false;
                return Reply::DONE;
            }
            Call::Leave => {
                self.has_receiver = false;
                if self.bound > 0 {
                    self.messages.clear();
                }
                return Reply::DONE;
            }
        };
        Reply::exchange(answer)
    }

    /// A send synchronizes with the receive of its message. The receive that makes room
    /// synchronizes with the send that uses the room. The disconnection of one side synchronizes
    /// with the calls of the other side that find it.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        let (awaited, senders_gone, receiver_gone) = (0, 1, 2);
        let sent = |number: u32| 3 + 2 * number;
        let received = |number: u32| 4 + 2 * number;
        let answer = match call {
            Call::Clone => return Synchronization::NONE,
            Call::Look => return Synchronization::acquire(senders_gone).and_acquire(receiver_gone),
            Call::HangUp => return Synchronization::release(senders_gone),
            Call::Leave | Call::Close => return Synchronization::release(receiver_gone),
            _ => reply.to_exchange(),
        };
        match (call, answer) {
            (Call::Send | Call::TrySend, Exchange::Message(number)) => {
                let given = Synchronization::release(sent(number));
                let bound = u32::try_from(self.bound).unwrap_or(u32::MAX);
                match (bound, number.checked_sub(bound)) {
                    (0, _) => given.and_acquire(awaited),
                    (_, Some(earlier)) => given.and_acquire(received(earlier)),
                    (_, None) => given,
                }
            }
            (Call::Send | Call::TrySend, Exchange::Offered(number)) => {
                Synchronization::release(sent(number))
            }
            (Call::Send | Call::TrySend | Call::Delivered(_), Exchange::Disconnected) => {
                Synchronization::acquire(receiver_gone)
            }
            (Call::Delivered(number), _) => Synchronization::acquire(received(number)),
            (_, Exchange::Message(number)) => {
                Synchronization::acquire(sent(number)).and_release(received(number))
            }
            (Call::Receive, Exchange::Unmatched) => Synchronization::release(awaited),
            (_, Exchange::Disconnected) => Synchronization::acquire(senders_gone),
            (_, Exchange::Unmatched | Exchange::Offered(_)) => Synchronization::NONE,
        }
    }
}
