//! Channels.
//!
//! A channel is disconnected for its receiver, as in std, if the queue is empty and no sender is
//! left. A receive that waits is one operation of the engine, which has this rule. A receive that
//! does not wait polls the queue and then loads the senders. If none is left, it polls once more,
//! because the last of them may have sent a message before it was dropped. The loads are events,
//! and only their values decide. So the decision is ordered with the ends of the senders by
//! happens-before, and every possible value is explored under every memory model.

use std::sync::atomic::Ordering;

use raddle_engine::Exchange;
use raddle_engine::object::channel::Call;
use raddle_engine::{LocationId, ObjectId, Operation, Ports, Received, Reply, World};

use super::Perform;

/// Result of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polled {
    /// The message with this number was received.
    Message(u32),
    /// There is no message, and a sender may be left.
    Empty,
    /// There is no message, and no sender is left.
    Disconnected,
}

/// Loads the value of an end of a channel, or of a count of them.
#[inline]
pub fn load<P: Perform>(
    runtime: P,
    site: P::Site,
    location: impl FnOnce(&mut World) -> LocationId,
) -> u64 {
    let load = |world: &mut World| Operation::Load {
        location: location(world),
        ordering: Ordering::SeqCst,
    };
    runtime.perform(site, load).to_value()
}

/// Returns the operation for the drop of a receiver: it sets the location that senders load.
#[inline]
pub fn leave(location: LocationId) -> Operation {
    Operation::Store {
        location,
        ordering: Ordering::SeqCst,
        value: Some(1),
    }
}

/// Sends to an unbounded channel; returns the number of the message, or `None` when the receiver
/// with this location was dropped.
#[inline]
pub fn send<P: Perform>(
    runtime: P,
    site: P::Site,
    receiver: impl FnOnce(&mut World) -> LocationId,
    port: impl FnOnce(&mut World) -> ObjectId,
) -> Option<u32> {
    (load(runtime, site, receiver) == 0).then(|| leave_message(runtime, site, port))
}

/// Sends a message to a port; returns its number.
#[inline]
pub fn leave_message<P: Perform>(
    runtime: P,
    site: P::Site,
    port: impl FnOnce(&mut World) -> ObjectId,
) -> u32 {
    let send = |world: &mut World| Operation::Send { port: port(world) };
    runtime.perform(site, send).to_value() as u32
}

/// Receives from an unbounded channel, waiting for a message.
#[inline]
pub fn receive<P: Perform>(
    runtime: P,
    site: P::Site,
    port: impl FnOnce(&mut World) -> ObjectId,
) -> Polled {
    let receive = |world: &mut World| take(port(world), true);
    polled(runtime.perform(site, receive))
}

/// Receives from an unbounded channel without waiting. `has_no_sender` decides by [`load`]s only.
#[inline]
pub fn try_receive<P: Perform>(
    runtime: P,
    site: P::Site,
    port: impl Fn(&mut World) -> ObjectId,
    has_no_sender: impl FnOnce() -> bool,
) -> Polled {
    let poll = |world: &mut World| take(port(world), false);
    let first = polled(runtime.observe(site, poll));
    if first != Polled::Empty || !has_no_sender() {
        return first;
    }
    match polled(runtime.perform(site, poll)) {
        Polled::Empty => Polled::Disconnected,
        last => last,
    }
}

/// Receives from an unbounded channel with a time limit. The limit may always pass before any other
/// thread runs, and an execution in which it passes later has the same results.
#[inline]
pub fn receive_timeout<P: Perform>(
    runtime: P,
    site: P::Site,
    port: impl Fn(&mut World) -> ObjectId,
    has_no_sender: impl FnOnce() -> bool,
) -> Polled {
    match runtime.may_time_out() {
        true => try_receive(runtime, site, port, has_no_sender),
        false => receive(runtime, site, port),
    }
}

/// Returns the operation that takes a message out of a port.
#[inline]
pub fn take(port: ObjectId, wait: bool) -> Operation {
    Operation::Receive {
        ports: Ports::One(port),
        wait,
    }
}

/// Returns the result of an operation that takes a message out of a port.
#[inline]
pub fn polled(reply: Reply) -> Polled {
    match reply.to_received() {
        Received::Message { number, .. } => Polled::Message(number),
        Received::Empty => Polled::Empty,
        Received::Closed => Polled::Disconnected,
    }
}

/// Returns the result of a call that receives from a bounded channel.
#[inline]
pub fn answered(answer: Exchange) -> Polled {
    match answer {
        Exchange::Message(number) => Polled::Message(number),
        Exchange::Unmatched | Exchange::Offered(_) => Polled::Empty,
        Exchange::Disconnected => Polled::Disconnected,
    }
}

/// Returns the first call of a receive from a bounded channel; `timeout` is true if it may time
/// out. Without a buffer, a waiting receiver is a state of the channel even if it times out.
#[inline]
pub fn receive_bounded(bound: usize, timeout: bool) -> Call {
    match timeout && bound > 0 {
        true => Call::TryReceive,
        false => Call::Receive,
    }
}

/// Returns the second call of a receive from a bounded channel, if there is one: without a buffer,
/// the receiver waits for a sender.
#[inline]
pub fn accept(first: Exchange, bound: usize, timeout: bool) -> Option<Call> {
    (first == Exchange::Unmatched && bound == 0).then_some(Call::Accept { timeout })
}

/// Returns the second call of a send to a bounded channel, if there is one: without a buffer, the
/// sender waits for the receiver.
#[inline]
pub fn deliver(first: Exchange) -> Option<Call> {
    match first {
        Exchange::Offered(number) => Some(Call::Delivered(number)),
        _ => None,
    }
}
