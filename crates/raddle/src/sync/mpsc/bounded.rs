//! Channels whose senders may have to wait, inside a check: an object of the engine, which
//! identifies messages by number.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::{self, Object, channel::Call};
use raddle_engine::{Exchange, Reply};

use super::receiver::{received, without_wait};
use super::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use crate::labelled::Thing;
use crate::mailbox::{Messages, used_outside};
use raddle_check::protocol::{self, channel};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign;
use raddle_check::runtime::{Context, Made, current};

type Caller = &'static Location<'static>;

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
    /// Execution that it was created in.
    stamp: u64,
    identity: Identity,
    bound: usize,
    messages: Messages<T>,
}

impl<T> Channel<T> {
    /// Returns the running check, if it is in the execution that the channel was created in.
    fn context<'a>(&self) -> Option<&'a Context> {
        current().filter(|context| context.stamp() == self.stamp)
    }

    /// True when the thread that drops an end created at this place is in the execution of the
    /// channel.
    fn is_here(&self, kind: &'static str, place: Caller) -> bool {
        let is_here = self.context().is_some();
        if !is_here {
            foreign::uses_of(self.stamp, None, Made { kind, place }.into(), place);
        }
        is_here
    }

    /// Returns the initial state.
    fn state(&self) -> Object {
        Object::Channel(object::channel::Channel::new(self.bound))
    }

    fn call(&self, call: Call, place: Caller) -> Reply {
        let Some(context) = self.context() else {
            used_outside(self.made, self.stamp, place)
        };
        protocol::call(context, place, call, |world| {
            context.object(world, &self.identity, self.made, || self.state())
        })
    }
}

pub(super) struct Sender<T> {
    channel: Arc<Channel<T>>,
    place: Caller,
}

impl<T> Sender<T> {
    pub(super) fn send(&self, message: T, place: Caller) -> Result<(), SendError<T>> {
        let messages = &self.channel.messages;
        let sent = self.channel.call(Call::Send, place).to_exchange();
        let (Exchange::Message(number) | Exchange::Offered(number)) = sent else {
            return Err(SendError(message));
        };
        // No other thread has run since the operation.
        messages.put(number, message);
        let delivered =
            channel::deliver(sent).map(|call| self.channel.call(call, place).to_exchange());
        match delivered {
            Some(Exchange::Disconnected) => Err(SendError(messages.take(number))),
            _ => Ok(()),
        }
    }

    pub(super) fn try_send(&self, message: T, place: Caller) -> Result<(), TrySendError<T>> {
        match self.channel.call(Call::TrySend, place).to_exchange() {
            Exchange::Message(number) => {
                self.channel.messages.put(number, message);
                Ok(())
            }
            Exchange::Disconnected => Err(TrySendError::Disconnected(message)),
            Exchange::Unmatched | Exchange::Offered(_) => Err(TrySendError::Full(message)),
        }
    }

    pub(super) fn clone(&self, place: Caller) -> Self {
        self.channel.call(Call::Clone, place);
        Sender {
            channel: Arc::clone(&self.channel),
            place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.channel.is_here("SyncSender", self.place) {
            self.channel.call(Call::HangUp, self.place);
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
        self.wait(place, false).map_err(|_| RecvError)
    }

    pub(super) fn try_receive(&self, place: Caller) -> Result<T, TryRecvError> {
        self.receive_by(|channel| channel.call(Call::TryReceive, place).to_exchange())
    }

    pub(super) fn receive_timeout(&self, place: Caller) -> Result<T, RecvTimeoutError> {
        let timeout = self.channel.context().is_some_and(Context::may_time_out);
        self.wait(place, timeout).map_err(without_wait)
    }

    /// Returns the object that a label names.
    pub(super) fn thing(&self) -> Thing<'_> {
        let channel = &*self.channel;
        let thing = |_| Thing::object(&channel.identity, channel.made, channel.state());
        channel.context().map_or_else(Thing::elsewhere, thing)
    }

    /// Receives a message, after waiting for one; the wait may time out.
    fn wait(&self, place: Caller, timeout: bool) -> Result<T, TryRecvError> {
        self.receive_by(|channel| {
            let first = channel
                .call(channel::receive_bounded(channel.bound, timeout), place)
                .to_exchange();
            let second = channel::accept(first, channel.bound, timeout);
            second.map_or(first, |call| channel.call(call, place).to_exchange())
        })
    }

    /// Receives, unless the channel is known to be disconnected.
    fn receive_by(&self, receive: impl FnOnce(&Channel<T>) -> Exchange) -> Result<T, TryRecvError> {
        if self.disconnected.get() {
            return Err(TryRecvError::Disconnected);
        }
        let polled = channel::answered(receive(&self.channel));
        received(polled, &self.channel.messages, &self.disconnected)
    }
}

impl<T> Drop for Receiver<T> {
    /// As in std, messages in the buffer are dropped by the thread that drops the receiver. Without a
    /// buffer, offered messages stay with the senders.
    fn drop(&mut self) {
        if self.channel.is_here("Receiver", self.channel.made.place) {
            self.channel.call(Call::Leave, self.channel.made.place);
        }
        if self.channel.bound > 0 {
            self.channel.messages.close();
        }
    }
}
