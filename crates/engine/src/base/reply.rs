//! The reply of a performed operation to its thread.

use super::ids::ThreadId;

/// The reply of an operation. Each operation, and each call of an object, has one kind of reply, and
/// reading it as another kind panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reply {
    /// The operation is done, and there is nothing to say about it.
    #[default]
    Done,
    /// The value that a load or an update read; the chosen alternative; the number of a sent message;
    /// the number of earlier rounds at a barrier.
    Value(u64),
    /// The answer to a question: has the thread ended, is the lock poisoned, did the time run out.
    Answer(bool),
    /// The thread created.
    Thread(ThreadId),
    /// The result of taking a lock, a permit or the right to initialize.
    Grant(Grant),
    /// The result of a receive from ports.
    Received(Received),
    /// The answer of a bounded channel.
    Exchange(Exchange),
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

/// The answer of a bounded channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// The message with this number was sent or received.
    Message(u32),
    /// The message with this number is offered; its delivery is a second call.
    Offered(u32),
    /// No thread waits on the other side, or the buffer is full or empty.
    Unmatched,
    /// The other side is gone.
    Disconnected,
}

impl Reply {
    /// Reply of a load, an update, a choice, a send, or a meeting.
    #[inline]
    pub fn to_value(self) -> u64 {
        match self {
            Reply::Value(value) => value,
            _ => self.mismatch("a value"),
        }
    }

    /// Reply of a question.
    #[inline]
    pub fn to_answer(self) -> bool {
        match self {
            Reply::Answer(answer) => answer,
            _ => self.mismatch("an answer"),
        }
    }

    /// Reply of a spawn.
    #[inline]
    pub fn to_thread(self) -> ThreadId {
        match self {
            Reply::Thread(thread) => thread,
            _ => self.mismatch("a thread"),
        }
    }

    /// Reply of an attempt to take a lock.
    #[inline]
    pub fn to_grant(self) -> Grant {
        match self {
            Reply::Grant(grant) => grant,
            _ => self.mismatch("a grant"),
        }
    }

    /// Reply of a receive from ports.
    #[inline]
    pub fn to_received(self) -> Received {
        match self {
            Reply::Received(received) => received,
            _ => self.mismatch("a received message"),
        }
    }

    /// Reply of a send or a receive of a bounded channel.
    #[inline]
    pub fn to_exchange(self) -> Exchange {
        match self {
            Reply::Exchange(exchange) => exchange,
            _ => self.mismatch("an answer of a channel"),
        }
    }

    #[cold]
    #[inline(never)]
    fn mismatch(self, wanted: &str) -> ! {
        panic!("raddle: the reply {self:?} is not {wanted}; please report this")
    }
}

#[cfg(test)]
mod tests {
    use super::{Exchange, Grant, Received, Reply};
    use crate::base::ids::ThreadId;

    const ALL: [Reply; 7] = [
        Reply::Done,
        Reply::Value(u64::MAX),
        Reply::Answer(true),
        Reply::Thread(ThreadId::MAIN),
        Reply::Grant(Grant::Refused),
        Reply::Received(Received::Empty),
        Reply::Exchange(Exchange::Unmatched),
    ];

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
            for (own, reply) in ALL.into_iter().enumerate() {
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
            assert_eq!(Reply::Received(reply).to_received(), reply);
        }
    }
}
