//! Messages that nobody received, in executions that went well.
//!
//! Only ports are looked at. Whoever drops the receiver of a std-shaped channel says that the rest
//! does not matter, and everybody drops it in the end; a port is never closed, and its sender has no
//! way to learn that its message was not wanted.

use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::object::Object;

/// Messages that were left in a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// The port.
    pub port: ObjectId,
    /// How many there are.
    pub count: usize,
    /// Who sent the first of them.
    pub sender: ThreadId,
    /// Where.
    pub sent: SiteId,
}

/// What was left in each port.
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
