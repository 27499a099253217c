//! A parker: the token that a parked thread waits for and other threads set.
//!
//! There is one for every thread that parks or is unparked, and one for every other token of that kind. It
//! holds at most one token, so a second `unpark` before the next `park` has no effect, as in std.
//!
//! A spurious wake-up is no call. It is decided before the thread checks for its token
//! ([`Operation::Chance`](crate::Operation::Chance)), and leaves the token unchanged. So it is not
//! ordered with unparks, and a possible wake-up never hides a missing token. A wake-up that leaves
//! a token is indistinguishable from one that takes it, followed by a spurious wake-up at the next
//! `park`.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, tables};

/// The parker's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parker {
    owner: Option<ThreadId>,
    is_waker: bool,
    token: bool,
}

/// Calls of a parker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes the token, after waiting for it. The answer is true when the wait timed out.
    Park {
        /// True when the wait may time out.
        timeout: bool,
    },
    /// Sets the token.
    Unpark,
}

tables! {
    Call {
        "park" => Park { timeout },
        "unpark" => Unpark,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Park { .. } => "park",
            Call::Unpark => "unpark",
        }
    }

    fn remark(self, reply: Reply) -> Option<&'static str> {
        match self {
            Call::Park { .. } if reply.to_answer() => Some("timed out"),
            _ => None,
        }
    }

    /// A park that timed out found no token.
    fn changed_nothing(self, reply: Reply) -> bool {
        matches!(self, Call::Park { .. }) && reply.to_answer()
    }

    /// A loop may park with a time limit, or unpark the thread that it waits for.
    fn polls(self) -> bool {
        true
    }
}

impl Parker {
    /// Creates a parker without its token.
    pub fn new(owner: ThreadId) -> Self {
        Parker {
            owner: Some(owner),
            is_waker: false,
            token: false,
        }
    }

    /// Creates a parker without its token on which any thread may park.
    pub fn of_any() -> Self {
        Parker {
            owner: None,
            is_waker: false,
            token: false,
        }
    }

    /// Creates the parker of a task, without its token: wakers set it.
    pub fn of_task() -> Self {
        Parker {
            is_waker: true,
            ..Parker::of_any()
        }
    }

    /// True for the parker of a task.
    pub fn is_waker(&self) -> bool {
        self.is_waker
    }

    /// Returns the thread that parks here, for messages, if there is only one. (The search may use
    /// another identifier for it.)
    pub fn owner(&self) -> Option<ThreadId> {
        self.owner
    }
}

impl Machine for Parker {
    type Call = Call;

    fn read_initial(_words: &mut Reader<'_>) -> Result<Self, Problem> {
        // The owner is used in diagnostics only, which use the state of the running world.
        Ok(Parker::of_any())
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Park { timeout } => timeout || self.token,
            Call::Unpark => true,
        }
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::Park { .. } => Reply::answer(!std::mem::take(&mut self.token)),
            Call::Unpark => {
                self.token = true;
                Reply::DONE
            }
        }
    }

    /// Every unpark before it synchronizes with the park that takes the token.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        match call {
            Call::Unpark => Synchronization::release(0),
            Call::Park { .. } if reply.to_answer() => Synchronization::NONE,
            Call::Park { .. } => Synchronization::acquire(0),
        }
    }
}
