//! A barrier with std's surface.

use std::fmt;
use std::panic::Location;

use raddle_engine::object::{self, Object, barrier::Call};
use raddle_engine::{Operation, Reply};

use crate::identity::Identity;
use crate::labelled::{Labelled, Thing};
use crate::substrate::{Context, Made, current};

/// A point that threads pass in groups, as [`std::sync::Barrier`].
///
/// Inside a check, the order in which threads come, and so who leads, is one of the choices that
/// the engine explores. Outside one, this is std's barrier.
pub struct Barrier {
    identity: Identity,
    made: Made,
    size: usize,
    /// In use outside checks.
    plain: std::sync::Barrier,
}

/// Whether a thread was its group's leader, as [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult {
    is_leader: bool,
}

impl Barrier {
    /// A barrier for groups of `n` threads; 0 does what 1 does.
    #[must_use]
    #[track_caller]
    pub const fn new(n: usize) -> Self {
        Barrier {
            identity: Identity::new(),
            made: Made {
                kind: "Barrier",
                place: Location::caller(),
            },
            size: n,
            plain: std::sync::Barrier::new(n),
        }
    }

    /// Waits until the group is complete. Its last thread leads it.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let place = Location::caller();
        let Some(context) = current() else {
            let is_leader = self.plain.wait().is_leader();
            return BarrierWaitResult { is_leader };
        };
        let is_leader = self.call(context, place, Call::Arrive).to_answer();
        if !is_leader {
            self.call(context, place, Call::Leave);
        }
        BarrierWaitResult { is_leader }
    }

    fn call(&self, context: &Context, place: &'static Location<'static>, call: Call) -> Reply {
        context.perform(place, |world| {
            let object = context.object(world, &self.identity, self.made, || {
                Object::Barrier(object::barrier::Barrier::new(self.size))
            });
            Operation::Call {
                object,
                call: object::Call::Barrier(call),
            }
        })
    }
}

impl BarrierWaitResult {
    /// Whether this thread was the leader; one in each group is.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.is_leader
    }
}

impl Labelled for Barrier {
    fn thing(&self) -> Thing<'_> {
        let state = Object::Barrier(object::barrier::Barrier::new(self.size));
        Thing::object(&self.identity, self.made, state)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader)
            .finish()
    }
}
