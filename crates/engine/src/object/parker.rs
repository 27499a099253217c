//! Where one thread parks: it waits for a token that others leave.
//!
//! There is one for every thread that parks or is unparked. It holds one token at most, so a second
//! `unpark` before the next `park` is lost, as with std's.
//!
//! A spurious wake-up is no call: whether it happens is decided before the thread looks for its
//! token ([`Operation::Chance`](crate::Operation::Chance)), and if so it leaves the token alone. So
//! it is not ordered with those who unpark, and a wake-up that *may* happen never hides that the
//! token does not come. That a thread leaves a token behind cannot be told from taking it and waking
//! up spuriously at the next `park`.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, tables};

/// The parker's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parker {
    owner: ThreadId,
    token: bool,
}

/// What threads can ask of a parker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Take the token, waiting until it is there. The answer is whether the time ran out before
    /// that.
    Park {
        /// Whether the time may run out.
        timeout: bool,
    },
    /// Leave the token.
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

    /// It found no token.
    fn changed_nothing(self, reply: Reply) -> bool {
        matches!(self, Call::Park { .. }) && reply.to_answer()
    }

    /// A loop may park with a time limit, or unpark the thread that it waits for.
    fn polls(self) -> bool {
        true
    }
}

impl Parker {
    /// A parker without its token.
    pub fn new(owner: ThreadId) -> Self {
        Parker {
            owner,
            token: false,
        }
    }

    /// The thread that parks here, for messages. (The search may know it by another name.)
    pub fn owner(&self) -> ThreadId {
        self.owner
    }
}

impl Machine for Parker {
    type Call = Call;

    fn read_initial(_words: &mut Reader<'_>) -> Result<Self, Problem> {
        // The owner is used in diagnostics only, which ask the running world.
        Ok(Parker::new(ThreadId::MAIN))
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
