//! Controlled semaphores.

use std::fmt;
use std::panic::Location;

use raddle_engine::object::{Object, semaphore};
use raddle_engine::{Grant, Reply};

use crate::labelled::{Labelled, Thing};
use crate::plain;
use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Made, statics};

/// Defines a semaphore over the plain one of the same name.
macro_rules! semaphore {
    ($(#[$doc:meta])* $name:ident($initial:ident: $type:ty), $state:expr) => {
        $(#[$doc])*
        pub struct $name {
            identity: Identity,
            made: Made,
            /// Used outside checks; its state is the initial one of executions.
            plain: plain::semaphore::$name,
        }

        impl $name {
            /// Creates a semaphore in this state.
            #[track_caller]
            pub const fn new($initial: $type) -> Self {
                let made = Made { kind: stringify!($name), place: Location::caller() };
                $name {
                    identity: Identity::new(),
                    made,
                    plain: plain::semaphore::$name::new($initial),
                }
            }

            /// Takes a permit, after waiting for one.
            #[track_caller]
            pub fn acquire(&self) {
                match using(&self.identity, &self.made, Location::caller()) {
                    None => self.plain.acquire(),
                    Some(context) => {
                        self.call(context, semaphore::Call::Acquire, Location::caller());
                    }
                }
            }

            /// Takes a permit if one is available; true if so.
            #[track_caller]
            pub fn try_acquire(&self) -> bool {
                let Some(context) = using(&self.identity, &self.made, Location::caller()) else {
                    return self.plain.try_acquire();
                };
                let reply = self.call(context, semaphore::Call::TryAcquire, Location::caller());
                reply.to_grant() != Grant::Refused
            }

            /// Returns a permit.
            #[track_caller]
            pub fn release(&self) {
                match using(&self.identity, &self.made, Location::caller()) {
                    None => self.plain.release(),
                    Some(context) => {
                        self.call(context, semaphore::Call::Release, Location::caller());
                    }
                }
            }

            fn call(
                &self,
                context: &Context,
                call: semaphore::Call,
                place: &'static Location<'static>,
            ) -> Reply {
                protocol::call(context, place, call, |world| {
                    context.object(world, &self.identity, self.made, || self.state())
                })
            }

            /// Returns the state at the beginning of an execution.
            fn state(&self) -> Object {
                let state: fn(&Self) -> semaphore::Semaphore = $state;
                let initial = statics::initial(self, &self.identity, &self.made);
                Object::Semaphore(initial.map_or_else(|| state(self), |initial| state(&initial)))
            }
        }

        impl Labelled for $name {
            fn thing(&self) -> Thing<'_> {
                Thing::object(&self.identity, self.made, self.state())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.plain.fmt(f)
            }
        }
    };
}

semaphore! {
    /// A counting semaphore: any number of permits, so a release never waits.
    Semaphore(permits: usize), |this| {
        let permits = u32::try_from(this.plain.available());
        semaphore::Semaphore::counting(permits.expect("raddle: more than 2^32 permits"))
    }
}

semaphore! {
    /// A binary semaphore: at most one permit; acquire and release alternate. A release waits until
    /// the permit is taken.
    BinarySemaphore(available: bool), |this| {
        semaphore::Semaphore::binary(this.plain.available())
    }
}
