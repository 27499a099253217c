//! Waits of futures: a future that is pending declares the operation that it waits for.
//!
//! The task of the future waits for its waker, and declarations name the object, the holder and
//! the place in reports. They are no operations.

use std::panic::Location;

use raddle_engine::{Operation, WaitId, World};

use crate::runtime::current;

/// The declared wait of one future, which ends with the value.
#[derive(Default)]
pub struct Wait {
    /// The stamp of the execution, and the wait there.
    declared: Option<(u64, WaitId)>,
}

impl Wait {
    /// Creates a wait that is not declared.
    pub const fn new() -> Self {
        Wait { declared: None }
    }

    /// Declares that the calling thread waits for the operation. Nothing happens outside a check.
    pub fn declare(
        &mut self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) {
        let Some(context) = current() else { return };
        if context.has_stopped() {
            return;
        }
        let stamp = context.stamp();
        let earlier = self.declared.filter(|(execution, _)| *execution == stamp);
        let id = context.declare_wait(earlier.map(|(_, id)| id), place, operation);
        self.declared = Some((stamp, id));
    }

    /// Ends the wait.
    pub fn end(&mut self) {
        let Some((stamp, id)) = self.declared.take() else {
            return;
        };
        if let Some(context) = current()
            && context.stamp() == stamp
        {
            context.with_world(|world| world.end_wait(id));
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.end();
    }
}
