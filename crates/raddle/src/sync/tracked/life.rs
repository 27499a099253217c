//! The objects of a shared value in the running check.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_engine::object::{self, Object, counted::Call, counted::Counted};
use raddle_engine::{ObjectId, Operation, World};

use crate::labelled::Thing;
use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::{self, using};
use raddle_check::runtime::{Context, Made, MustDrop, current};

use super::exposed;

/// Stored beside the value, so that weak handles can still reach it after the value was dropped.
/// The state machine, `raddle_engine::object::counted`, explains why there are two objects.
pub(super) struct Life {
    made: Made,
    births: Identity,
    ends: Identity,
    /// Obligation to drop the value.
    must_drop: Option<MustDrop>,
    /// Address of the value, if raw pointers to it were handed out.
    exposed: AtomicUsize,
}

impl Life {
    pub(super) fn new(place: &'static Location<'static>) -> Self {
        Life {
            made: Made {
                kind: "TrackedArc",
                place,
            },
            births: Identity::new(),
            ends: Identity::new(),
            must_drop: MustDrop::made("TrackedArc", place),
            exposed: AtomicUsize::new(0),
        }
    }

    /// Records that the value was dropped or moved out.
    pub(super) fn value_dropped(&self) {
        if let Some(must_drop) = &self.must_drop {
            must_drop.dropped();
        }
    }

    /// Makes this value known by the address of the shared value.
    pub(super) fn expose(&self, address: usize) {
        if self.exposed.swap(address, Ordering::Relaxed) == 0 {
            exposed::add(address, self);
        }
    }

    /// Returns the object that a label names.
    pub(super) fn thing(&self) -> Thing<'_> {
        Thing::object(&self.ends, self.made, Object::Counted(Counted::default()))
    }

    /// Records the creation of a handle from another one.
    pub(super) fn birth(&self, call: Call, place: &'static Location<'static>) {
        if let Some(context) = using(&self.ends, &self.made, place) {
            self.call_births(context, call, place);
        }
    }

    /// Records any other call, except a count of handles.
    pub(super) fn end(&self, call: Call, place: &'static Location<'static>) {
        let context = match call {
            // Handles are dropped during unwinding, too.
            Call::Drop | Call::DropWeak => current(),
            _ => using(&self.ends, &self.made, place),
        };
        match context {
            Some(context) => _ = self.call_ends(context, call, place),
            None => foreign::drops(&self.ends, &self.made, place),
        }
    }

    /// Returns the result of `count`, which counts handles. It is called between two reads of the
    /// number of drops, until these are equal: then the result depends on ordered events only.
    pub(super) fn count<R>(&self, place: &'static Location<'static>, count: impl Fn() -> R) -> R {
        let Some(context) = using(&self.ends, &self.made, place) else {
            return count();
        };
        let mut before = self.call_ends(context, Call::Count, place);
        loop {
            self.call_births(context, Call::Count, place);
            let counted = count();
            let after = self.call_ends(context, Call::Count, place);
            if before == after {
                return counted;
            }
            before = after;
        }
    }

    fn call_births(&self, context: &Context, call: Call, place: &'static Location<'static>) {
        context.perform(place, |world| {
            let ends = self.ends(context, world);
            let made = Made {
                kind: "births",
                ..self.made
            };
            let object = context.object(world, &self.births, made, || {
                Object::Counted(Counted::births(ends))
            });
            Operation::Call {
                object,
                call: object::Call::Counted(call),
            }
        });
    }

    fn call_ends(&self, context: &Context, call: Call, place: &'static Location<'static>) -> u64 {
        protocol::call(context, place, call, |world| self.ends(context, world)).to_value()
    }

    fn ends(&self, context: &Context, world: &mut World) -> ObjectId {
        context.object(world, &self.ends, self.made, || {
            Object::Counted(Counted::default())
        })
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let address = *self.exposed.get_mut();
        if address != 0 {
            exposed::remove(address, self);
        }
    }
}
