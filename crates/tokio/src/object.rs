//! Objects of the engine, with the state that the front end keeps beside them.
//!
//! Each call is one operation. No other thread of the check runs between the operation and the
//! change of the state after it, so the lock of the state is one of std's. Outside a check the
//! state is all there is, and the lock orders the calls.

use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use raddle_check::protocol;
use raddle_check::protocol::awaits::Wait;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Identity, Made, current};
use raddle_engine::object::{Call, Object};
use raddle_engine::{ObjectId, Operation, Reply, World};

/// A place in the program.
pub(crate) type Place = &'static Location<'static>;

/// The state of a primitive.
pub(crate) trait State {
    /// Returns the object of the engine in this state.
    fn object(&self) -> Object;
}

/// A primitive: an object of the engine and the state beside it.
pub(crate) struct Shared<S> {
    identity: Identity,
    made: Made,
    /// The stamp of the execution in which it was made; 0 outside checks.
    execution: u64,
    state: Mutex<S>,
}

impl<S: State> Shared<S> {
    #[track_caller]
    pub(crate) fn new(kind: &'static str, state: S) -> Self {
        let mut shared = Shared::new_const(kind, state);
        shared.execution = current().map_or(0, Context::stamp);
        shared
    }

    /// Creates one outside checks, where constants and statics are made.
    #[track_caller]
    pub(crate) const fn new_const(kind: &'static str, state: S) -> Self {
        Shared {
            identity: Identity::new(),
            made: Made {
                kind,
                place: Location::caller(),
            },
            execution: 0,
            state: Mutex::new(state),
        }
    }

    /// Returns the running execution, if the calling thread is part of one that may use the value.
    fn context(&self, place: Place) -> Option<&Context> {
        match current() {
            None => using(&self.identity, &self.made, place),
            Some(context) if context.stamp() == self.execution => Some(context),
            Some(_) if self.execution == 0 && !std::thread::panicking() => panic!(
                "raddle-tokio: the {} made at {} was made outside the check that uses it at {place}; \
                 make it inside the check. Statics of tokio's types are not supported in checks; \
                 the native mode, `cargo raddle test --native`, runs them",
                self.made.kind, self.made.place
            ),
            // A value that an earlier execution has left.
            Some(_) => None,
        }
    }

    fn id(&self, context: &Context, world: &mut World) -> ObjectId {
        let initial = || self.state().object();
        context.object(world, &self.identity, self.made, initial)
    }

    /// Returns the state, without an operation.
    pub(crate) fn state(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an operation and returns the state, and the reply of an operation that counts.
    pub(crate) fn call(
        &self,
        place: Place,
        call: impl Into<Call>,
    ) -> (MutexGuard<'_, S>, Option<Reply>) {
        let reply = self.context(place).map(|context| {
            let reply = protocol::call(context, place, call, |world| self.id(context, world));
            (reply, context.has_stopped())
        });
        let reply = reply.filter(|(_, has_stopped)| !has_stopped);
        (self.state(), reply.map(|(reply, _)| reply))
    }

    /// Declares that a future of the calling task waits until this call succeeds.
    pub(crate) fn declare(&self, wait: &mut Wait, place: Place, call: impl Into<Call>) {
        let call = call.into();
        if let Some(context) = self.context(place) {
            raddle::future::__pending_at(place);
            wait.declare(place, |world| Operation::Call {
                object: self.id(context, world),
                call,
            });
        }
    }
}

/// Calls wakers, which are operations, after the state was changed.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// Sets the waker of a future that is pending.
pub(crate) fn set_waker(slot: &mut Option<Waker>, waker: &Waker) {
    match slot {
        Some(earlier) if earlier.will_wake(waker) => {}
        _ => *slot = Some(waker.clone()),
    }
}

/// True inside a check.
pub(crate) fn is_controlled() -> bool {
    current().is_some()
}
