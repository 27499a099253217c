//! Messages that were never received and values that were never dropped, in executions without a
//! failure.
//!
//! Only ports are checked for messages. Dropping the receiver of a std-shaped channel states that the rest does
//! not matter, and every program drops it in the end. A port is never closed, and its sender is not
//! informed that its message was not received.

use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::object::Object;

/// Something that outlives an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leak {
    /// Messages left in a port.
    Unreceived(Unreceived),
    /// A value that was not dropped.
    Undropped(Undropped),
}

/// A value that the program has not dropped. The front end records which values must be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undropped {
    /// The name of its type.
    pub kind: &'static str,
    /// The thread that made it.
    pub thread: ThreadId,
    /// Source location where it was made.
    pub made: SiteId,
}

/// Messages left in a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// The port.
    pub port: ObjectId,
    /// Number of messages.
    pub count: usize,
    /// Sender of the first of them.
    pub sender: ThreadId,
    /// Source location of that send.
    pub sent: SiteId,
}

/// Returns the messages left in each port.
pub fn unreceived(execution: &Execution) -> Vec<Leak> {
    let objects = execution.objects.iter().enumerate();
    objects
        .filter_map(|(index, object)| match object {
            Object::Port(port) if !port.is_ordered() && port.has_messages() => {
                let sends: Vec<_> = port.left().collect();
                let first = execution
                    .events
                    .iter()
                    .find(|event| sends.contains(&event.id))?;
                Some(Leak::Unreceived(Unreceived {
                    port: ObjectId::new(index),
                    count: sends.len(),
                    sender: first.id.thread,
                    sent: first.site,
                }))
            }
            _ => None,
        })
        .collect()
}
