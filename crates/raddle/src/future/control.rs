//! The object of the engine that stands for a task.

use std::panic::Location;

use raddle_engine::object::{Object, task};

use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::Made;
use raddle_check::runtime::foreign::using;

/// A task as the engine knows it. Outside a check its calls do nothing.
pub(super) struct TaskObject {
    identity: Identity,
    made: Made,
}

impl TaskObject {
    pub(super) fn new(place: &'static Location<'static>) -> Self {
        TaskObject {
            identity: Identity::new(),
            made: Made {
                kind: "Task",
                place,
            },
        }
    }

    /// Calls the task. No other thread runs between the call and the next operation.
    pub(super) fn call(&self, call: task::Call, place: &'static Location<'static>) {
        if let Some(context) = using(&self.identity, &self.made, place) {
            protocol::call(context, place, call, |world| {
                context.object(world, &self.identity, self.made, || {
                    Object::Task(task::Task::default())
                })
            });
        }
    }
}
