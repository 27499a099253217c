//! Messages that were never received, in executions without a failure.
//!
//! Only ports are checked. Dropping the receiver of a std-shaped channel states that the rest does
//! not matter, and every program drops it in the end. A port is never closed, and its sender cannot
//! learn that its message was not wanted.

use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::object::Object;

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
pub fn unreceived(execution: &Execution) -> Vec<Unreceived> {
    let objects = execution.objects.iter().enumerate();
    objects
        .filter_map(|(index, object)| match object {
            Object::Port(port) if !port.is_ordered() && port.has_messages() => {
                let sends: Vec<_> = port.left().collect();
                let first = execution
                    .events
                    .iter()
                    .find(|event| sends.contains(&event.id))?;
                Some(Unreceived {
                    port: ObjectId::new(index),
                    count: sends.len(),
                    sender: first.id.thread,
                    sent: first.site,
                })
            }
            _ => None,
        })
        .collect()
}
