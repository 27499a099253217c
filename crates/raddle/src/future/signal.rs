//! A token that threads set and wait for, controlled inside a check.

use std::panic::Location;

use raddle_engine::object::{Object, parker::Call, parker::Parker};
use raddle_engine::{Chance, Operation, Reply};

use crate::plain;
use raddle_check::protocol;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Identity, Made};

/// One token: [`set`](Self::set) sets it, [`wait`](Self::wait) waits until it is set and takes it.
pub struct Signal {
    identity: Identity,
    made: Made,
    /// True for the token of a task, which its wakers set.
    is_waker: bool,
    /// Used outside checks.
    plain: plain::signal::Signal,
}

impl Signal {
    /// Creates one without its token; `kind` is its name in messages.
    #[track_caller]
    pub const fn new(kind: &'static str) -> Self {
        Signal {
            is_waker: false,
            identity: Identity::new(),
            made: Made {
                kind,
                place: Location::caller(),
            },
            plain: plain::signal::Signal::new(kind),
        }
    }

    /// Creates the token of a task without it; `future` is the type of the future.
    #[track_caller]
    pub(super) const fn of_task(future: &'static str) -> Self {
        let mut signal = Signal::new(future);
        signal.is_waker = true;
        signal
    }

    /// Sets the token.
    #[track_caller]
    pub fn set(&self) {
        let place = Location::caller();
        match using(&self.identity, &self.made, place) {
            None => self.plain.set(),
            Some(context) => _ = self.call(context, Call::Unpark, place),
        }
    }

    /// Takes the token, after waiting for it; inside a check it may also return spuriously, as
    /// [`park`](crate::thread::park).
    pub(super) fn wait_or_wake_spuriously(&self, place: &'static Location<'static>) {
        let Some(context) = using(&self.identity, &self.made, place) else {
            return self.plain.wait();
        };
        if context.may_wake_spuriously() {
            let what = Chance::SpuriousUnpark;
            let reply = context.observe(place, |_| Operation::Chance { what });
            if reply.to_answer() {
                return context.count_spurious_wakeup();
            }
        }
        self.call(context, Call::Park { timeout: false }, place);
    }

    /// Takes the token, after waiting for it, or times out, as it always may; true in that case.
    pub(super) fn wait_or_time_out(&self, place: &'static Location<'static>) -> bool {
        match using(&self.identity, &self.made, place) {
            None => {
                self.plain.wait();
                false
            }
            Some(context) => {
                let park = Call::Park { timeout: true };
                self.call(context, park, place).to_answer()
            }
        }
    }

    /// Takes the token, after waiting for it.
    #[track_caller]
    pub fn wait(&self) {
        let place = Location::caller();
        match using(&self.identity, &self.made, place) {
            None => self.plain.wait(),
            Some(context) => _ = self.call(context, Call::Park { timeout: false }, place),
        }
    }

    fn call(&self, context: &Context, call: Call, place: &'static Location<'static>) -> Reply {
        protocol::call(context, place, call, |world| {
            context.object(world, &self.identity, self.made, || {
                Object::Parker(match self.is_waker {
                    true => Parker::of_task(),
                    false => Parker::of_any(),
                })
            })
        })
    }
}
