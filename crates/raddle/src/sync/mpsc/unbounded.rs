//! Channels whose senders never wait, inside a check: an ordered port of the engine.
//!
//! Each end has a location that becomes 1 when the end is dropped. A send loads that of the receiver;
//! a receive that does not wait loads those of the senders.

use std::cell::Cell;
use std::mem::needs_drop;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::object::port::Port;
use raddle_engine::{LocationId, Operation, ThreadPath, World};

use super::receiver::{received, without_wait};
use super::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use crate::labelled::Thing;
use crate::mailbox::Mailbox;
use raddle_check::protocol::channel::{self, Polled};
use raddle_check::runtime::Identity;
use raddle_check::runtime::{Context, Made};

type Caller = &'static Location<'static>;

pub(super) fn channel<T>(context: &Context, made: Made) -> (Sender<T>, Receiver<T>) {
    let handle = Arc::new(Handle::new(context, made.place));
    let channel = Arc::new(Channel {
        mailbox: Mailbox::new(context, made, Port::ordered(1)),
        receiver: Presence::new("Receiver", made.place),
        first: Arc::clone(&handle),
    });
    let sender = Sender {
        channel: Arc::clone(&channel),
        handle,
    };
    let receiver = Receiver {
        channel,
        disconnected: Cell::new(false),
    };
    (sender, receiver)
}

struct Channel<T> {
    mailbox: Mailbox<T>,
    receiver: Presence,
    /// Sender that the channel was created with.
    first: Arc<Handle>,
}

/// The location of an end of a channel, which is set when the end is dropped.
struct Presence {
    identity: Identity,
    made: Made,
}

impl Presence {
    fn new(kind: &'static str, place: Caller) -> Self {
        Presence {
            identity: Identity::new(),
            made: Made { kind, place },
        }
    }

    fn location(&self, context: &Context, world: &mut World) -> LocationId {
        context.location(world, &self.identity, self.made, || 0)
    }

    fn is_gone(&self, context: &Context, place: Caller) -> bool {
        channel::load(context, place, |world| self.location(context, world)) != 0
    }
}

/// A sender, and those cloned from it. They outlive the senders themselves.
struct Handle {
    presence: Presence,
    cloned_by: ThreadPath,
    clones: Mutex<Vec<Arc<Handle>>>,
}

impl Handle {
    fn new(context: &Context, place: Caller) -> Self {
        Handle {
            presence: Presence::new("Sender", place),
            cloned_by: context.thread_path(),
            clones: Mutex::default(),
        }
    }

    fn add(&self, clone: Arc<Handle>) {
        let mut clones = self.clones.lock().unwrap_or_else(PoisonError::into_inner);
        clones.push(clone);
    }

    /// Returns the clones in an order that does not depend on the schedule.
    fn clones(&self) -> Vec<Arc<Handle>> {
        let clones = self.clones.lock().unwrap_or_else(PoisonError::into_inner);
        let mut clones = clones.clone();
        clones.sort_by(|left, right| left.cloned_by.cmp(&right.cloned_by));
        clones
    }
}

impl<T> Channel<T> {
    /// True when no sender is left. Loads the location of each in turn, that of a clone after that
    /// of its origin: a dropped sender has no further clones. So the loaded locations do not depend
    /// on the schedule.
    fn has_no_sender(&self, context: &Context, place: Caller) -> bool {
        let mut left = vec![Arc::clone(&self.first)];
        while let Some(handle) = left.pop() {
            if !handle.presence.is_gone(context, place) {
                return false;
            }
            left.extend(handle.clones().into_iter().rev());
        }
        true
    }
}

pub(super) struct Sender<T> {
    channel: Arc<Channel<T>>,
    handle: Arc<Handle>,
}

impl<T> Sender<T> {
    pub(super) fn send(&self, message: T, place: Caller) -> Result<(), SendError<T>> {
        let Channel {
            mailbox, receiver, ..
        } = &*self.channel;
        let context = mailbox.context_at(place);
        let receiver = |world: &mut World| receiver.location(context, world);
        let port = |world: &mut World| mailbox.object(context, world);
        match channel::send(context, place, receiver, port) {
            Some(number) => {
                // No other thread has run since the operation.
                mailbox.messages().put(number, message);
                Ok(())
            }
            None => Err(SendError(message)),
        }
    }

    pub(super) fn clone(&self, place: Caller) -> Self {
        let mailbox = &self.channel.mailbox;
        let context = mailbox.context_at(place);
        context.with_world(|world| {
            let port = mailbox.object(context, world);
            world.add_sender(port);
        });
        let handle = Arc::new(Handle::new(context, place));
        self.handle.add(Arc::clone(&handle));
        Sender {
            channel: Arc::clone(&self.channel),
            handle,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let (mailbox, presence) = (&self.channel.mailbox, &self.handle.presence);
        if let Some(context) = mailbox.context_of_drop("Sender", presence.made.place) {
            let operation = context.with_world(|world| Operation::HangUp {
                port: mailbox.object(context, world),
                location: presence.location(context, world),
            });
            context.perform_protected(presence.made.place, operation);
        }
    }
}

pub(super) struct Receiver<T> {
    channel: Arc<Channel<T>>,
    /// True once a receive has found neither a message nor a sender.
    disconnected: Cell<bool>,
}

impl<T> Receiver<T> {
    pub(super) fn receive(&self, place: Caller) -> Result<T, RecvError> {
        let mailbox = &self.channel.mailbox;
        self.receive_by(place, |context| mailbox.receive(context, place))
            .map_err(|_| RecvError)
    }

    pub(super) fn try_receive(&self, place: Caller) -> Result<T, TryRecvError> {
        let channel = &*self.channel;
        self.receive_by(place, |context| {
            let port = |world: &mut World| channel.mailbox.object(context, world);
            // Allocates.
            let has_no_sender = || context.apart(|| channel.has_no_sender(context, place));
            channel::try_receive(context, place, port, has_no_sender)
        })
    }

    pub(super) fn receive_timeout(&self, place: Caller) -> Result<T, RecvTimeoutError> {
        let channel = &*self.channel;
        let received = self.receive_by(place, |context| {
            let port = |world: &mut World| channel.mailbox.object(context, world);
            let has_no_sender = || context.apart(|| channel.has_no_sender(context, place));
            channel::receive_timeout(context, place, port, has_no_sender)
        });
        received.map_err(without_wait)
    }

    /// Returns the object that a label names.
    pub(super) fn thing(&self) -> Thing<'_> {
        self.channel.mailbox.thing()
    }

    /// Receives, unless the channel is known to be disconnected.
    fn receive_by(
        &self,
        place: Caller,
        receive: impl FnOnce(&Context) -> Polled,
    ) -> Result<T, TryRecvError> {
        let mailbox = &self.channel.mailbox;
        let context = mailbox.context_at(place);
        if self.disconnected.get() {
            return Err(TryRecvError::Disconnected);
        }
        received(receive(context), mailbox.messages(), &self.disconnected)
    }
}

impl<T> Drop for Receiver<T> {
    /// As in std, messages that are left are dropped by the thread that drops the receiver. If a
    /// thread can observe that, receiving the messages is part of the execution; a message that is
    /// sent later is dropped by its sender.
    fn drop(&mut self) {
        let Channel {
            mailbox, receiver, ..
        } = &*self.channel;
        if let Some(context) = mailbox.context_of_drop("Receiver", receiver.made.place) {
            let place = receiver.made.place;
            let leave =
                context.with_world(|world| channel::leave(receiver.location(context, world)));
            context.perform_protected(place, leave);
            while needs_drop::<T>() && !self.disconnected.get() {
                let received = mailbox.receive_protected(context, place);
                let Polled::Message(number) = received else {
                    break;
                };
                drop(mailbox.messages().take(number));
            }
        }
        mailbox.messages().close();
    }
}
