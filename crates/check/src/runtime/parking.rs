//! The objects on which threads park.

use std::panic::Location;

use raddle_engine::object::{Object, parker::Parker};
use raddle_engine::{ObjectId, ThreadId, World};

use super::{Context, Made};

impl Context {
    /// Returns the object on which the thread parks, made at the first use.
    pub fn parker(
        &self,
        world: &mut World,
        thread: ThreadId,
        place: &'static Location<'static>,
    ) -> ObjectId {
        let slots = self.slots.borrow();
        let made = Made {
            kind: "Parker",
            place,
        };
        self.object(world, &slots[thread.index()].parker, made, || {
            Object::Parker(Parker::new(thread))
        })
    }
}
