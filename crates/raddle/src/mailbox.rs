//! Parts of ports and channels inside a check: a port of the engine, which identifies messages by
//! number, and the messages themselves.

use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use raddle_engine::object::{Object, port::Port};
use raddle_engine::{ObjectId, World};

use crate::labelled::Thing;
use raddle_check::protocol::channel::{self, Polled};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign;
use raddle_check::runtime::{Context, Made, current};

/// Messages in transit, inside one execution.
pub(crate) struct Mailbox<T> {
    made: Made,
    /// Execution that it was created in.
    stamp: u64,
    identity: Identity,
    /// Initial state of the engine's port.
    port: Port,
    messages: Messages<T>,
}

impl<T> Mailbox<T> {
    pub(crate) fn new(context: &Context, made: Made, port: Port) -> Self {
        Mailbox {
            made,
            stamp: context.stamp(),
            identity: Identity::new(),
            port,
            messages: Messages::new(),
        }
    }

    /// Returns the running check, which must be in the execution that the mailbox was created in.
    pub(crate) fn context_at<'a>(&self, place: &'static Location<'static>) -> &'a Context {
        match self.try_context() {
            Some(context) => context,
            None => used_outside(self.made, self.stamp, place),
        }
    }

    /// Returns the running check, for the drop of an end that was created at this place; `None` if
    /// it is not in the execution that the mailbox was created in.
    pub(crate) fn context_of_drop<'a>(
        &self,
        kind: &'static str,
        place: &'static Location<'static>,
    ) -> Option<&'a Context> {
        let context = self.try_context();
        if context.is_none() {
            foreign::uses_of(self.stamp, None, Made { kind, place }.into(), place);
        }
        context
    }

    /// Returns the running check, if it is in the execution that the mailbox was created in.
    pub(crate) fn try_context<'a>(&self) -> Option<&'a Context> {
        current().filter(|context| context.stamp() == self.stamp)
    }

    pub(crate) fn made(&self) -> Made {
        self.made
    }

    /// Returns the object that a label names.
    pub(crate) fn thing(&self) -> Thing<'_> {
        let port = |_| Thing::object(&self.identity, self.made, Object::Port(self.port.clone()));
        self.try_context().map_or_else(Thing::elsewhere, port)
    }

    pub(crate) fn object(&self, context: &Context, world: &mut World) -> ObjectId {
        let port = || Object::Port(self.port.clone());
        context.object(world, &self.identity, self.made, port)
    }

    /// Sends a message to the port.
    pub(crate) fn send(&self, context: &Context, place: &'static Location<'static>, message: T) {
        let object = |world: &mut World| self.object(context, world);
        let number = channel::leave_message(context, place, object);
        // No other thread has run since the operation.
        self.messages.put(number, message);
    }

    /// Receives a message from the port, after waiting for one.
    pub(crate) fn receive(&self, context: &Context, place: &'static Location<'static>) -> Polled {
        channel::receive(context, place, |world| self.object(context, world))
    }

    /// Receives a message from the port if there is one. The thread is not unwound before that is
    /// done.
    pub(crate) fn receive_protected(
        &self,
        context: &Context,
        place: &'static Location<'static>,
    ) -> Polled {
        let take = context.with_world(|world| channel::take(self.object(context, world), false));
        channel::polled(context.perform_protected(place, take))
    }

    pub(crate) fn messages(&self) -> &Messages<T> {
        &self.messages
    }
}

/// Messages by number.
pub(crate) struct Messages<T>(Mutex<Kept<T>>);

struct Kept<T> {
    /// True when no message will be received any more.
    closed: bool,
    list: Vec<(u32, T)>,
}

impl<T> Messages<T> {
    pub(crate) fn new() -> Self {
        let (closed, list) = (false, Vec::new());
        Messages(Mutex::new(Kept { closed, list }))
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the message, or drops it if it will not be received.
    pub(crate) fn put(&self, number: u32, message: T) {
        let mut kept = self.kept();
        if !kept.closed {
            kept.list.push((number, message));
            return;
        }
        drop(kept);
        drop(message);
    }

    /// Removes and returns the message with this number, which must exist.
    pub(crate) fn take(&self, number: u32) -> T {
        let list = &mut self.kept().list;
        let position = list.iter().position(|&(other, _)| other == number);
        let position = position.expect("raddle: a message without contents; please report this");
        list.remove(position).1
    }

    /// Drops all messages, later ones included.
    pub(crate) fn close(&self) {
        let mut kept = self.kept();
        kept.closed = true;
        let list = std::mem::take(&mut kept.list);
        drop(kept);
        drop(list);
    }
}

/// Panics, because a value created inside an execution is used outside it.
#[cold]
pub(crate) fn used_outside(made: Made, stamp: u64, place: &'static Location<'static>) -> ! {
    foreign::uses_of(stamp, None, made.into(), place);
    panic!(
        "raddle: the {} made at {} inside a check is used outside its execution; start all threads of a \
         check with `raddle::thread::spawn`",
        made.kind, made.place
    )
}

/// Panics if a value created outside is used inside a check, because the engine does not control
/// its other uses.
#[track_caller]
pub(crate) fn check_outside(made: Made) {
    assert!(
        current().is_none(),
        "raddle: the {} made at {} outside the check is used inside it; make it inside the body. To \
         carry results out of a check, use std's own types",
        made.kind,
        made.place
    );
}
