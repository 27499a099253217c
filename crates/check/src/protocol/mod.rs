//! Protocols of synchronization primitives: the operations that one call of the program performs,
//! and their order.
//!
//! A front end intercepts a call, provides its object and its site, and calls the functions here.
//! They are generic over [`Perform`], the runtime of the front end, and inlined.

pub mod awaits;
pub mod channel;
pub mod condvar;
pub mod lock;

use std::panic::Location;
use std::time::Duration;

use raddle_engine::object::Call;
use raddle_engine::{ObjectId, Operation, Reply, World};

use crate::runtime::Context;

/// The running execution, in which the calling thread performs operations.
pub trait Perform: Copy {
    /// A place in the program under test.
    type Site: Copy;

    /// Performs an operation when the scheduler selects the thread.
    fn perform(self, site: Self::Site, operation: impl FnOnce(&mut World) -> Operation) -> Reply;

    /// Performs an operation that a loop may repeat while it waits for another thread.
    fn observe(self, site: Self::Site, operation: impl FnOnce(&mut World) -> Operation) -> Reply;

    /// True when the time of a wait may run out.
    fn may_time_out(self) -> bool;

    /// True when the thread may wake up without a notification.
    fn may_wake_spuriously(self) -> bool;

    /// Counts a wake-up of the thread without a notification.
    fn count_spurious_wakeup(self);

    /// Advances the clock of the thread.
    fn pass_time(self, time: Duration);
}

impl Perform for &Context {
    type Site = &'static Location<'static>;

    #[inline(always)]
    fn perform(self, site: Self::Site, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        Context::perform(self, site, operation)
    }

    #[inline(always)]
    fn observe(self, site: Self::Site, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        Context::observe(self, site, operation)
    }

    #[inline]
    fn may_time_out(self) -> bool {
        Context::may_time_out(self)
    }

    #[inline]
    fn may_wake_spuriously(self) -> bool {
        Context::may_wake_spuriously(self)
    }

    #[inline]
    fn count_spurious_wakeup(self) {
        Context::count_spurious_wakeup(self);
    }

    #[inline]
    fn pass_time(self, time: Duration) {
        Context::pass_time(self, time);
    }
}

/// Calls an object.
#[inline(always)]
pub fn call<P: Perform>(
    runtime: P,
    site: P::Site,
    call: impl Into<Call>,
    object: impl FnOnce(&mut World) -> ObjectId,
) -> Reply {
    let call = call.into();
    let operation = |world: &mut World| Operation::Call {
        object: object(world),
        call,
    };
    match call.polls() {
        true => runtime.observe(site, operation),
        false => runtime.perform(site, operation),
    }
}
