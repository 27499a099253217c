//! The reply of a performed operation to its thread.

use std::fmt;

use super::ids::ThreadId;

/// The reply of an operation. Each operation, and each call of an object, has one kind of reply;
/// reading it as another kind panics.
///
/// Two words without padding: the search for spin loops compares stacks, whose frames contain
/// copies of replies, and no byte of these may differ between equal replies. The value 0, which
/// most loops wait on, is all zeroes, as in a frame that was not used before.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reply {
    kind: ReplyKind,
    word: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
enum ReplyKind {
    Value,
    Done,
    Answer,
    Thread,
    Refused,
    Taken,
    Message,
    Empty,
    Closed,
    Sent,
    Offered,
    Unmatched,
    Disconnected,
}

/// The result of an attempt to take a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// The lock was taken.
    Taken {
        /// True when a thread panicked while it held the lock.
        poisoned: bool,
    },
    /// Another thread holds the lock.
    Refused,
}

/// The result of a receive from ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// A message.
    Message {
        /// Position of its port in the list of the receive.
        port: u32,
        /// Number of messages sent to the port before it in this execution.
        number: u32,
    },
    /// No message, and the receive does not wait.
    Empty,
    /// No message, and no sender is left.
    Closed,
}

/// The reply of a bounded channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// The message with this number was sent or received.
    Message(u32),
    /// The message with this number is offered; its delivery is a second call.
    Offered(u32),
    /// No thread waits on the other side, or the buffer is full or empty.
    Unmatched,
    /// The other side was dropped.
    Disconnected,
}

impl Reply {
    /// The reply of an operation that returns nothing.
    pub const DONE: Reply = Reply::new(ReplyKind::Done, 0);

    const fn new(kind: ReplyKind, word: u64) -> Self {
        Reply { kind, word }
    }

    /// Creates a reply with a value: read by a load or an update, chosen by a choice, the number of
    /// a sent message, or the number of earlier rounds at a barrier.
    #[inline]
    pub const fn value(value: u64) -> Self {
        Reply::new(ReplyKind::Value, value)
    }

    /// Creates the answer to a question: thread ended, lock poisoned, time-out.
    #[inline]
    pub const fn answer(answer: bool) -> Self {
        Reply::new(ReplyKind::Answer, answer as u64)
    }

    /// Creates the reply of a spawn.
    #[inline]
    pub fn thread(thread: ThreadId) -> Self {
        Reply::new(ReplyKind::Thread, thread.index() as u64)
    }

    /// Creates the reply of an attempt to take a lock, a permit or the right to initialize.
    #[inline]
    pub const fn grant(grant: Grant) -> Self {
        match grant {
            Grant::Taken { poisoned } => Reply::new(ReplyKind::Taken, poisoned as u64),
            Grant::Refused => Reply::new(ReplyKind::Refused, 0),
        }
    }

    /// Creates the reply of a receive from ports.
    #[inline]
    pub const fn received(received: Received) -> Self {
        match received {
            Received::Message { port, number } => {
                Reply::new(ReplyKind::Message, (port as u64) << 32 | number as u64)
            }
            Received::Empty => Reply::new(ReplyKind::Empty, 0),
            Received::Closed => Reply::new(ReplyKind::Closed, 0),
        }
    }

    /// Creates the reply of a bounded channel.
    #[inline]
    pub const fn exchange(exchange: Exchange) -> Self {
        match exchange {
            Exchange::Message(number) => Reply::new(ReplyKind::Sent, number as u64),
            Exchange::Offered(number) => Reply::new(ReplyKind::Offered, number as u64),
            Exchange::Unmatched => Reply::new(ReplyKind::Unmatched, 0),
            Exchange::Disconnected => Reply::new(ReplyKind::Disconnected, 0),
        }
    }

    /// Returns the value replied to a load, an update, a choice, a send or a barrier wait.
    #[inline]
    pub fn to_value(self) -> u64 {
        match self.kind {
            ReplyKind::Value => self.word,
            _ => self.mismatch("a value"),
        }
    }

    /// Returns the answer to a question.
    #[inline]
    pub fn to_answer(self) -> bool {
        match self.kind {
            ReplyKind::Answer => self.word != 0,
            _ => self.mismatch("an answer"),
        }
    }

    /// Returns the thread that a spawn created.
    #[inline]
    pub fn to_thread(self) -> ThreadId {
        match self.kind {
            ReplyKind::Thread => ThreadId::new(self.word as usize),
            _ => self.mismatch("a thread"),
        }
    }

    /// Returns the result of an attempt to take a lock.
    #[inline]
    pub fn to_grant(self) -> Grant {
        match self.kind {
            ReplyKind::Taken => Grant::Taken {
                poisoned: self.word != 0,
            },
            ReplyKind::Refused => Grant::Refused,
            _ => self.mismatch("a grant"),
        }
    }

    /// Returns the result of a receive from ports.
    #[inline]
    pub fn to_received(self) -> Received {
        match self.kind {
            ReplyKind::Message => Received::Message {
                port: (self.word >> 32) as u32,
                number: self.word as u32,
            },
            ReplyKind::Empty => Received::Empty,
            ReplyKind::Closed => Received::Closed,
            _ => self.mismatch("a received message"),
        }
    }

    /// Returns the result of a send or a receive of a bounded channel.
    #[inline]
    pub fn to_exchange(self) -> Exchange {
        self.as_exchange()
            .unwrap_or_else(|| self.mismatch("an answer of a channel"))
    }

    /// Returns the result of a call of a bounded channel, if the reply is one.
    #[inline]
    pub fn as_exchange(self) -> Option<Exchange> {
        match self.kind {
            ReplyKind::Sent => Some(Exchange::Message(self.word as u32)),
            ReplyKind::Offered => Some(Exchange::Offered(self.word as u32)),
            ReplyKind::Unmatched => Some(Exchange::Unmatched),
            ReplyKind::Disconnected => Some(Exchange::Disconnected),
            _ => None,
        }
    }

    /// Words of [`result`](Self::result).
    pub(crate) const TAKEN: &'static str = "taken";
    pub(crate) const REFUSED: &'static str = "refused";
    pub(crate) const YES: &'static str = "yes";
    pub(crate) const NO: &'static str = "no";
    pub(crate) const MESSAGE: &'static str = "a message";
    pub(crate) const EMPTY: &'static str = "no message";

    /// Returns a word for the reply, if it is one of few that programs branch on.
    pub(crate) fn result(self) -> Option<&'static str> {
        Some(match self.kind {
            ReplyKind::Answer if self.word != 0 => Reply::YES,
            ReplyKind::Answer => Reply::NO,
            ReplyKind::Refused => Reply::REFUSED,
            ReplyKind::Taken if self.word != 0 => "poisoned",
            ReplyKind::Taken => Reply::TAKEN,
            ReplyKind::Message => Reply::MESSAGE,
            ReplyKind::Empty => Reply::EMPTY,
            ReplyKind::Closed => "closed",
            ReplyKind::Disconnected => "disconnected",
            ReplyKind::Value
            | ReplyKind::Done
            | ReplyKind::Thread
            | ReplyKind::Sent
            | ReplyKind::Offered
            | ReplyKind::Unmatched => return None,
        })
    }

    #[cold]
    #[inline(never)]
    fn mismatch(self, wanted: &str) -> ! {
        panic!("raddle: the reply {self:?} is not {wanted}; please report this")
    }
}

impl Default for Reply {
    fn default() -> Self {
        Reply::DONE
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ReplyKind::Done => write!(f, "Done"),
            ReplyKind::Value => write!(f, "Value({})", self.word),
            ReplyKind::Answer => write!(f, "Answer({})", self.to_answer()),
            ReplyKind::Thread => write!(f, "Thread({:?})", self.to_thread()),
            ReplyKind::Taken | ReplyKind::Refused => write!(f, "Grant({:?})", self.to_grant()),
            ReplyKind::Message | ReplyKind::Empty | ReplyKind::Closed => {
                write!(f, "Received({:?})", self.to_received())
            }
            ReplyKind::Sent
            | ReplyKind::Offered
            | ReplyKind::Unmatched
            | ReplyKind::Disconnected => {
                write!(f, "Exchange({:?})", self.to_exchange())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exchange, Grant, Received, Reply};
    use crate::base::ids::ThreadId;

    fn all() -> [Reply; 7] {
        [
            Reply::DONE,
            Reply::value(u64::MAX),
            Reply::answer(true),
            Reply::thread(ThreadId::MAIN),
            Reply::grant(Grant::Refused),
            Reply::received(Received::Empty),
            Reply::exchange(Exchange::Unmatched),
        ]
    }

    #[test]
    fn a_reply_is_read_as_its_own_kind_only() {
        let readers: [fn(Reply); 6] = [
            |reply| _ = reply.to_value(),
            |reply| _ = reply.to_answer(),
            |reply| _ = reply.to_thread(),
            |reply| _ = reply.to_grant(),
            |reply| _ = reply.to_received(),
            |reply| _ = reply.to_exchange(),
        ];
        for (kind, read) in readers.into_iter().enumerate() {
            for (own, reply) in all().into_iter().enumerate() {
                let is_read = std::panic::catch_unwind(|| read(reply)).is_ok();
                assert_eq!(is_read, own == kind + 1, "{reply:?} by reader {kind}");
            }
        }
    }

    #[test]
    fn no_message_is_confused_with_its_absence() {
        let last = Received::Message {
            port: u32::MAX,
            number: u32::MAX,
        };
        for reply in [Received::Empty, Received::Closed, last] {
            assert_eq!(Reply::received(reply).to_received(), reply);
        }
    }
}
