//! Channels whose senders may have to wait, inside a check: an object of the engine, which knows
//! messages by their numbers.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::{self, Object, channel::Call};
use raddle_engine::{Exchange, Operation, Reply, World};

use super::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use crate::labelled::Thing;
use crate::mailbox::{Messages, used_outside};
use raddle_check::runtime::Identity;
use raddle_check::runtime::{Context, Made, current};

type Place = &'static Location<'static>;

pub(super) fn channel<T>(context: &Context, made: Made, bound: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel {
        made,
        stamp: context.stamp(),
        identity: Identity::new(),
        bound,
        messages: Messages::new(),
    });
    let sender = Sender {
        channel: Arc::clone(&channel),
        place: made.place,
    };
    let receiver = Receiver {
        channel,
        disconnected: Cell::new(false),
    };
    (sender, receiver)
}

struct Channel<T> {
    made: Made,
    /// The execution it was made in.
    stamp: u64,
    identity: Identity,
    bound: usize,
    messages: Messages<T>,
}

impl<T> Channel<T> {
    /// The running check, if it is in the execution that the channel was made in.
    fn context<'a>(&self) -> Option<&'a Context> {
        current().filter(|context| context.stamp() == self.stamp)
    }

    /// What it is at first.
    fn state(&self) -> Object {
        Object::Channel(object::channel::Channel::new(self.bound))
    }

    fn call(&self, call: Call, place: Place) -> Reply {
        let context = self.context().unwrap_or_else(|| used_outside(self.made));
        let operation = |world: &mut World| Operation::Call {
            object: context.object(world, &self.identity, self.made, || self.state()),
            call: object::Call::Channel(call),
        };
        match call {
            Call::TrySend | Call::TryReceive => context.observe(place, operation),
            _ => context.perform(place, operation),
        }
    }
}

pub(super) struct Sender<T> {
    channel: Arc<Channel<T>>,
    place: Place,
}

impl<T> Sender<T> {
    pub(super) fn send(&self, message: T, place: Place) -> Result<(), SendError<T>> {
        let messages = &self.channel.messages;
        match self.channel.call(Call::Send, place).to_exchange() {
            // Nobody else has run since the message was sent.
            Exchange::Message(number) => messages.put(number, message),
            Exchange::Offered(number) => {
                messages.put(number, message);
                let delivered = self
                    .channel
                    .call(Call::Delivered(number), place)
                    .to_exchange();
                if delivered == Exchange::Disconnected {
                    return Err(SendError(messages.take(number)));
                }
            }
            Exchange::Unmatched | Exchange::Disconnected => return Err(SendError(message)),
        }
        Ok(())
    }

    pub(super) fn try_send(&self, message: T, place: Place) -> Result<(), TrySendError<T>> {
        match self.channel.call(Call::TrySend, place).to_exchange() {
            Exchange::Message(number) => {
                self.channel.messages.put(number, message);
                Ok(())
            }
            Exchange::Disconnected => Err(TrySendError::Disconnected(message)),
            Exchange::Unmatched | Exchange::Offered(_) => Err(TrySendError::Full(message)),
        }
    }

    pub(super) fn clone(&self, place: Place) -> Self {
        self.channel.call(Call::Clone, place);
        Sender {
            channel: Arc::clone(&self.channel),
            place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.channel.context().is_some() {
            self.channel.call(Call::HangUp, self.place);
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
        self.ask(
            |channel| match channel.call(Call::Receive, place).to_exchange() {
                Exchange::Unmatched => channel
                    .call(Call::Accept { timeout: false }, place)
                    .to_exchange(),
                answer => answer,
            },
        )
        .map_err(|_| RecvError)
    }

    pub(super) fn try_receive(&self, place: Place) -> Result<T, TryRecvError> {
        self.ask(|channel| channel.call(Call::TryReceive, place).to_exchange())
    }

    /// What can be given a name.
    pub(super) fn thing(&self) -> Thing<'_> {
        let channel = &*self.channel;
        let thing = |_| Thing::object(&channel.identity, channel.made, channel.state());
        channel.context().map_or_else(Thing::elsewhere, thing)
    }

    pub(super) fn receive_timeout(&self, place: Place) -> Result<T, RecvTimeoutError> {
        let timeout = self.channel.context().is_some_and(Context::may_time_out);
        let first = if timeout && self.channel.bound > 0 {
            Call::TryReceive
        } else {
            Call::Receive
        };
        let answer = |channel: &Channel<T>| match channel.call(first, place).to_exchange() {
            Exchange::Unmatched if channel.bound == 0 => {
                channel.call(Call::Accept { timeout }, place).to_exchange()
            }
            answer => answer,
        };
        self.ask(answer).map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Asks the channel, unless it is known what it will say.
    fn ask(&self, ask: impl FnOnce(&Channel<T>) -> Exchange) -> Result<T, TryRecvError> {
        if self.disconnected.get() {
            return Err(TryRecvError::Disconnected);
        }
        match ask(&self.channel) {
            Exchange::Message(number) => Ok(self.channel.messages.take(number)),
            Exchange::Unmatched | Exchange::Offered(_) => Err(TryRecvError::Empty),
            Exchange::Disconnected => {
                self.disconnected.set(true);
                Err(TryRecvError::Disconnected)
            }
        }
    }
}

impl<T> Drop for Receiver<T> {
    /// As in std, what is in the buffer is dropped by the thread that drops the receiver. Without a
    /// buffer, what is offered stays with the senders.
    fn drop(&mut self) {
        if self.channel.context().is_some() {
            self.channel.call(Call::Leave, self.channel.made.place);
        }
        if self.channel.bound > 0 {
            self.channel.messages.close();
        }
    }
}
