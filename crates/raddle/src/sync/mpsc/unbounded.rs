//! Channels whose senders never wait, inside a check: an ordered port of the engine.
//!
//! Each end has a location that becomes 1 when the end goes away, for those who only look: a sender
//! looks for the receiver, and a receiver that does not want to wait looks for the senders.

use std::cell::Cell;
use std::mem::needs_drop;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::object::port::Port;
use raddle_engine::{LocationId, Operation, Received, ThreadPath, World};

use super::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use crate::labelled::Thing;
use crate::mailbox::Mailbox;
use raddle_check::runtime::Identity;
use raddle_check::runtime::{Context, Made};

type Place = &'static Location<'static>;

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
    /// The sender that the channel was made with.
    first: Arc<Handle>,
}

/// Whether an end of a channel is still there, as others can see it.
struct Presence {
    identity: Identity,
    made: Made,
}

impl Presence {
    fn new(kind: &'static str, place: Place) -> Self {
        Presence {
            identity: Identity::new(),
            made: Made { kind, place },
        }
    }

    fn location(&self, context: &Context, world: &mut World) -> LocationId {
        context.location(world, &self.identity, self.made, || 0)
    }

    fn is_gone(&self, context: &Context, place: Place) -> bool {
        let reply = context.perform(place, |world| Operation::Load {
            location: self.location(context, world),
            ordering: Ordering::SeqCst,
        });
        reply.to_value() != 0
    }
}

/// A sender, and those cloned from it. They outlive the senders themselves.
struct Handle {
    presence: Presence,
    cloned_by: ThreadPath,
    clones: Mutex<Vec<Arc<Handle>>>,
}

impl Handle {
    fn new(context: &Context, place: Place) -> Self {
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

    /// In an order that the schedule does not change.
    fn clones(&self) -> Vec<Arc<Handle>> {
        let clones = self.clones.lock().unwrap_or_else(PoisonError::into_inner);
        let mut clones = clones.clone();
        clones.sort_by(|left, right| left.cloned_by.cmp(&right.cloned_by));
        clones
    }
}

impl<T> Channel<T> {
    /// Whether no sender is left. Looks at them one by one, those that were cloned after the one they
    /// were cloned from: once that is gone, there will be no more of them. So the same senders are
    /// looked at whatever the schedule.
    fn has_no_sender(&self, context: &Context, place: Place) -> bool {
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
    pub(super) fn send(&self, message: T, place: Place) -> Result<(), SendError<T>> {
        let Channel {
            mailbox, receiver, ..
        } = &*self.channel;
        let context = mailbox.context();
        if receiver.is_gone(context, place) {
            return Err(SendError(message));
        }
        mailbox.send(context, place, message);
        Ok(())
    }

    pub(super) fn clone(&self, place: Place) -> Self {
        let mailbox = &self.channel.mailbox;
        let context = mailbox.context();
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
        if let Some(context) = mailbox.try_context() {
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
    /// It has been found that there is no message and no sender any more.
    disconnected: Cell<bool>,
}

impl<T> Receiver<T> {
    pub(super) fn receive(&self, place: Place) -> Result<T, RecvError> {
        let mailbox = &self.channel.mailbox;
        let context = mailbox.context();
        if self.disconnected.get() {
            return Err(RecvError);
        }
        match mailbox.receive(context, place, true) {
            Received::Message { number, .. } => Ok(mailbox.messages().take(number)),
            Received::Empty | Received::Closed => {
                self.disconnected.set(true);
                Err(RecvError)
            }
        }
    }

    pub(super) fn try_receive(&self, place: Place) -> Result<T, TryRecvError> {
        let mailbox = &self.channel.mailbox;
        let context = mailbox.context();
        if self.disconnected.get() {
            return Err(TryRecvError::Disconnected);
        }
        let poll = || match mailbox.receive(context, place, false) {
            Received::Message { number, .. } => Some(mailbox.messages().take(number)),
            Received::Empty | Received::Closed => None,
        };
        if let Some(message) = poll() {
            return Ok(message);
        }
        // Allocates.
        if !context.apart(|| self.channel.has_no_sender(context, place)) {
            return Err(TryRecvError::Empty);
        }
        // The last of them may have sent something before it went.
        poll().ok_or_else(|| {
            self.disconnected.set(true);
            TryRecvError::Disconnected
        })
    }

    /// What can be given a name.
    pub(super) fn thing(&self) -> Thing<'_> {
        self.channel.mailbox.thing()
    }

    pub(super) fn receive_timeout(&self, place: Place) -> Result<T, RecvTimeoutError> {
        if !self.channel.mailbox.context().may_time_out() {
            return Ok(self.receive(place)?);
        }
        self.try_receive(place).map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }
}

impl<T> Drop for Receiver<T> {
    /// As in std, what has not been received is dropped by the thread that drops the receiver. If
    /// that can be noticed, taking the messages is part of the execution; a message that comes later
    /// is dropped by its sender.
    fn drop(&mut self) {
        let Channel {
            mailbox, receiver, ..
        } = &*self.channel;
        if let Some(context) = mailbox.try_context() {
            let place = receiver.made.place;
            let operation = context.with_world(|world| Operation::Store {
                location: receiver.location(context, world),
                ordering: Ordering::SeqCst,
                value: Some(1),
            });
            context.perform_protected(place, operation);
            while needs_drop::<T>() && !self.disconnected.get() {
                let received = mailbox.receive_protected(context, place);
                let Received::Message { number, .. } = received else {
                    break;
                };
                drop(mailbox.messages().take(number));
            }
        }
        mailbox.messages().close();
    }
}
