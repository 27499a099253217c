//! The common part of `Once` and `OnceLock` inside a check.

use std::panic::Location;

use raddle_engine::object::{self, Object, once::Call};
use raddle_engine::{Grant, Reply};

use crate::labelled::Thing;
use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Made, statics};

const POISONED: &str = "Once instance has previously been poisoned";

/// An initialization that is done once in every execution.
pub(super) struct Controlled {
    identity: Identity,
    made: Made,
}

/// A modelled thread at a place in the program.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) context: &'a Context,
    pub(super) place: &'static Location<'static>,
    /// True when it was done before the execution.
    pub(super) done: bool,
}

impl Controlled {
    #[track_caller]
    pub(super) const fn new(kind: &'static str) -> Self {
        Controlled {
            identity: Identity::new(),
            made: Made {
                kind,
                place: Location::caller(),
            },
        }
    }

    /// Returns the check that the calling thread belongs to.
    pub(super) fn using<'a>(&self, place: &'static Location<'static>) -> Option<&'a Context> {
        using(&self.identity, &self.made, place)
    }

    /// Runs `work` unless the initialization is done, with true if it is poisoned.
    pub(super) fn run(&self, caller: Caller<'_>, insist: bool, work: impl FnOnce(bool)) {
        let poisoned = match self.call(caller, Call::Begin { insist }).to_grant() {
            Grant::Refused => return,
            Grant::Taken { poisoned } => poisoned,
        };
        assert!(insist || !poisoned, "{POISONED}");
        let mut finish = Finish {
            once: self,
            caller,
            poison: true,
        };
        work(poisoned);
        finish.poison = false;
    }

    pub(super) fn is_completed(&self, caller: Caller<'_>) -> bool {
        self.call(caller, Call::IsCompleted).to_answer()
    }

    /// Waits until the initialization is done; if it is poisoned, panics, or continues to wait if
    /// `insist`.
    pub(super) fn wait(&self, caller: Caller<'_>, insist: bool) {
        let poisoned = self.call(caller, Call::Wait { insist }).to_answer();
        // Destructors of an execution that has stopped should not panic.
        assert!(!poisoned || caller.context.has_stopped(), "{POISONED}");
    }

    /// Returns the object that a label names; `done` is true when it was done before the execution.
    pub(super) fn thing(&self, done: bool) -> Thing<'_> {
        Thing::object(&self.identity, self.made, self.state(done))
    }

    /// Returns the place of its creation.
    pub(super) fn place(&self) -> &'static Location<'static> {
        self.made.place
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn made(&self) -> &Made {
        &self.made
    }

    /// Makes the next use the first one again.
    pub(super) fn forget(&self) {
        self.identity.forget();
    }

    fn call(&self, caller: Caller<'_>, call: Call) -> Reply {
        let Caller {
            context,
            place,
            done,
        } = caller;
        protocol::call(context, place, call, |world| {
            context.object(world, &self.identity, self.made, || self.state(done))
        })
    }
}

impl Controlled {
    /// Returns the state at the beginning of an execution. A static cannot be done then, because no
    /// constant expression can do it.
    fn state(&self, done: bool) -> Object {
        Object::Once(match done && !statics::is_static(&self.identity) {
            true => object::once::Once::Done,
            false => object::once::Once::New,
        })
    }
}

/// Completes the initialization when dropped, or poisons it if the thread panicked.
struct Finish<'a> {
    once: &'a Controlled,
    caller: Caller<'a>,
    poison: bool,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let poison = self.poison;
        self.once.call(self.caller, Call::Finish { poison });
    }
}
