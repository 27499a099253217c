//! The reply of a performed operation to its thread.

use super::ids::ThreadId;

/// What a performed operation gives back to its thread: one word, which the operation tells how to
/// read. (A plain word, because replies are written and read at every step.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply(u64);

/// How an attempt to take a lock went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// The lock was taken.
    Taken {
        /// Whether a thread panicked while it held the lock.
        poisoned: bool,
    },
    /// Another thread holds the lock.
    Refused,
}

/// What a receive found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// A message.
    Message {
        /// Position of its port in the list that the receive looked at.
        port: u32,
        /// Its number: how many messages the port had been sent before it in this execution.
        number: u32,
    },
    /// No message, and the thread did not want to wait.
    Empty,
    /// No message, and nobody is left who could send one.
    Closed,
}

impl Reply {
    /// Nothing but the fact that it happened.
    pub const DONE: Reply = Reply(0);

    /// The value read or the alternative chosen.
    #[inline]
    pub fn value(value: u64) -> Self {
        Reply(value)
    }

    /// The answer to a question.
    pub fn answer(answer: bool) -> Self {
        Reply(u64::from(answer))
    }

    /// The thread created.
    pub fn thread(thread: ThreadId) -> Self {
        Reply(thread.index() as u64)
    }

    /// How an attempt to take a lock went.
    pub fn grant(grant: Grant) -> Self {
        match grant {
            Grant::Taken { poisoned } => Reply(u64::from(poisoned)),
            Grant::Refused => Reply(2),
        }
    }

    /// What a receive found.
    pub fn received(received: Received) -> Self {
        match received {
            Received::Message { port, number } => Reply(u64::from(port) << 32 | u64::from(number)),
            Received::Empty => Reply(u64::MAX),
            Received::Closed => Reply(u64::MAX - 1),
        }
    }

    /// Of a receive.
    pub fn to_received(self) -> Received {
        match self.0 {
            u64::MAX => Received::Empty,
            closed if closed == u64::MAX - 1 => Received::Closed,
            message => Received::Message {
                port: (message >> 32) as u32,
                number: message as u32,
            },
        }
    }

    /// Of a load, an update or a choice; the number of a message sent, or of a meeting.
    #[inline]
    pub fn to_value(self) -> u64 {
        self.0
    }

    /// Of a question.
    pub fn to_answer(self) -> bool {
        self.0 != 0
    }

    /// Of a spawn.
    pub fn to_thread(self) -> ThreadId {
        ThreadId::new(self.0 as usize)
    }

    /// Of an attempt to take a lock.
    #[inline]
    pub fn to_grant(self) -> Grant {
        match self.0 {
            2 => Grant::Refused,
            poisoned => Grant::Taken {
                poisoned: poisoned == 1,
            },
        }
    }
}
