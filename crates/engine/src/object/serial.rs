//! An object whose state the front end keeps: each call completes at once, and calls have an order.
//!
//! A front end changes its own state right after the call, before any other thread runs. So the
//! order of the calls determines the state, and nothing else must be known here. Primitives without
//! a holder that are no queue of messages, such as a notification or a watched value, need no more.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, tables};

/// The object, which has no state here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Serial;

/// Calls of the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Notifies one waiter, or the next one.
    NotifyOne,
    /// Notifies all waiters.
    NotifyAll,
    /// Becomes a waiter, or finds that it was notified.
    Wait,
    /// Publishes a value.
    Send,
    /// Takes or reads a published value.
    Receive,
    /// Begins to wait for later notifications or values.
    Subscribe,
    /// Adds a handle.
    Clone,
    /// Removes a handle, or closes the object.
    Drop,
    /// Stops waiting.
    Cancel,
    /// Reads something that no other thread published.
    Look,
}

tables! {
    Call {
        "notify-one" => NotifyOne,
        "notify-all" => NotifyAll,
        "wait" => Wait,
        "send" => Send,
        "receive" => Receive,
        "subscribe" => Subscribe,
        "clone" => Clone,
        "drop" => Drop,
        "cancel" => Cancel,
        "look" => Look,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::NotifyOne => "notify-one",
            Call::NotifyAll => "notify-all",
            Call::Wait => "wait",
            Call::Send => "send",
            Call::Receive => "receive",
            Call::Subscribe => "subscribe",
            Call::Clone => "clone",
            Call::Drop => "drop",
            Call::Cancel => "cancel",
            Call::Look => "look",
        }
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::Drop | Call::Cancel)
    }

    fn changed_nothing(self, _reply: Reply) -> bool {
        self == Call::Look
    }

    fn polls(self) -> bool {
        matches!(self, Call::Look | Call::Receive | Call::Wait)
    }
}

impl Machine for Serial {
    type Call = Call;

    fn read_initial(_words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Serial)
    }

    fn open(&self, _call: Call, _by: ThreadId) -> bool {
        true
    }

    fn apply(&mut self, _call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        Reply::DONE
    }

    /// All earlier notifications, sends and drops synchronize with every call that finds them.
    fn synchronization(&self, call: Call, _reply: Reply) -> Synchronization {
        match call {
            Call::NotifyOne | Call::NotifyAll | Call::Drop | Call::Cancel => {
                Synchronization::release(0)
            }
            // A value that was published before is dropped by the next one.
            Call::Send => Synchronization::acquire(0).and_release(0),
            Call::Wait | Call::Receive | Call::Subscribe | Call::Look => {
                Synchronization::acquire(0)
            }
            Call::Clone => Synchronization::NONE,
        }
    }
}
