//! Synchronisation objects: one small state machine per primitive.
//!
//! An object is a process of its own (reachability testing, Carver and Lei): threads *call* it and
//! it *completes* one open call at a time. A machine says which calls are open in its present
//! state, how many ways a call can turn out, and what completing one does. Scheduling, clocks,
//! deadlock reports, replay and exhaustive search follow from that.
//!
//! A new primitive is a new file here, a variant in [`Object`] and one in [`Call`].

pub mod mutex;

use crate::event::{Grant, Reply, ThreadId};

/// What every primitive must say about itself.
pub(crate) trait Machine {
    /// What threads can ask of it.
    type Call: Copy;

    /// Whether the call could complete now.
    fn open(&self, call: Self::Call, by: ThreadId) -> bool;

    /// How many ways the call could turn out if it completed now.
    fn outcomes(&self, _call: Self::Call, _by: ThreadId) -> u32 {
        1
    }

    /// Completes an open call.
    fn apply(&mut self, call: Self::Call, by: ThreadId, outcome: u32) -> Reply;

    /// The thread whose move would open the object again, if one can be named.
    fn blocked_by(&self) -> Option<ThreadId>;
}

/// A synchronisation object in some state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// A mutual-exclusion lock.
    Mutex(mutex::Mutex),
}

/// A call on a synchronisation object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A call on a mutual-exclusion lock.
    Mutex(mutex::Call),
}

impl Call {
    /// How the attempt to take a lock went, if this call is one.
    pub fn grant(&self, reply: Reply) -> Option<Grant> {
        match self {
            Call::Mutex(call) => call.takes().then(|| reply.to_grant()),
        }
    }

    /// Whether the reply is the answer to a question.
    pub fn asks(&self) -> bool {
        matches!(self, Call::Mutex(mutex::Call::IsPoisoned))
    }

    /// One word for schedules and traces.
    pub fn label(&self) -> &'static str {
        match self {
            Call::Mutex(call) => call.label(),
        }
    }
}

impl Object {
    /// Whether the call could complete now.
    pub fn open(&self, call: Call, by: ThreadId) -> bool {
        match (self, call) {
            (Object::Mutex(machine), Call::Mutex(call)) => machine.open(call, by),
        }
    }

    /// How many ways the call could turn out if it completed now.
    pub fn outcomes(&self, call: Call, by: ThreadId) -> u32 {
        match (self, call) {
            (Object::Mutex(machine), Call::Mutex(call)) => machine.outcomes(call, by),
        }
    }

    /// Completes an open call.
    pub fn apply(&mut self, call: Call, by: ThreadId, outcome: u32) -> Reply {
        match (self, call) {
            (Object::Mutex(machine), Call::Mutex(call)) => machine.apply(call, by, outcome),
        }
    }

    /// The thread whose move would open the object again, if one can be named.
    pub fn blocked_by(&self) -> Option<ThreadId> {
        match self {
            Object::Mutex(machine) => machine.blocked_by(),
        }
    }
}
