//! A barrier: nobody gets past before a whole group has come.
//!
//! Waiting is two calls. *Arrive* never waits; whoever completes the group is its leader and goes
//! on at once. Everybody else then calls *leave*, which waits for the leader.

use super::{Machine, Request};
use crate::event::{Reply, ThreadId};

/// The barrier's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barrier {
    size: usize,
    /// Who has come since the last group was complete.
    arrived: Vec<ThreadId>,
    /// Whose group is complete, but who has not left yet.
    released: Vec<ThreadId>,
}

/// What threads can ask of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Join the group; the answer is whether this made it complete.
    Arrive,
    /// Go on, waiting until the group is complete.
    Leave,
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Arrive => "arrive",
            Call::Leave => "leave",
        }
    }
}

impl Barrier {
    /// A barrier for groups of this size.
    pub fn new(size: usize) -> Self {
        Barrier {
            size,
            arrived: Vec::new(),
            released: Vec::new(),
        }
    }
}

impl Machine for Barrier {
    type Call = Call;

    fn open(&self, call: Call, by: ThreadId) -> bool {
        match call {
            Call::Arrive => true,
            Call::Leave => self.released.contains(&by),
        }
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: u32) -> Reply {
        match call {
            Call::Arrive => {
                let leads = self.arrived.len() + 1 >= self.size;
                if leads {
                    self.released.append(&mut self.arrived);
                } else {
                    self.arrived.push(by);
                }
                Reply::answer(leads)
            }
            Call::Leave => {
                self.released.retain(|&thread| thread != by);
                Reply::DONE
            }
        }
    }
}
