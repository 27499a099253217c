//! Channels of `std::sync::mpsc`, as objects of the engine.
//!
//! The internals of a channel are no events, so no other thread runs in between. Right before, at its first
//! use of the channel's memory, the thread performs the operation of the engine that stands for the call: it
//! waits there for a message or for room, and then continues and finds it. Only without a buffer, where the
//! two sides meet, is there a second operation, in place of parking.
//!
//! A channel is one block of the heap. Its flavour is known from the function that made it, and its capacity
//! from the number of calls of the function that makes a slot.

use std::sync::atomic::Ordering;

use raddle_engine::object::channel::{self, Call};
use raddle_engine::object::port::Port;
use raddle_engine::object::{self, Object};
use raddle_engine::{Exchange, LocationId, ObjectId, Operation, Ports, Received, Reply, World};

use super::clocks::join;
use crate::abi::caller;
use crate::engine::Top;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::names::regions;
use crate::names::rust_paths::FunctionKind;

const KIND: &str = "Channel";

/// Ends of a channel.
#[derive(Clone, Copy)]
enum ChannelEnd {
    Receiver,
    /// The only sender.
    Sender,
    /// One of several senders, if the program polls.
    Senders,
}

impl ChannelEnd {
    fn kind(self) -> &'static str {
        match self {
            ChannelEnd::Receiver => "Receiver",
            ChannelEnd::Sender => "Sender",
            ChannelEnd::Senders => "Senders",
        }
    }
}

struct Channel {
    block: std::ops::Range<usize>,
    /// Nothing if senders never wait.
    bound: Option<usize>,
    object: Option<ObjectId>,
    /// By end: the location that is set when it is gone.
    ends: [Option<LocationId>; 3],
    /// How many senders there were, and how many of them are gone.
    senders: u64,
    gone: u64,
    /// Join of the senders' clocks when they sent.
    sent: Vec<u32>,
    /// It was found that there is no message and no sender any more.
    is_disconnected: bool,
}

/// Operation of a thread in place of parking.
#[derive(Clone, Copy)]
enum Wait {
    None,
    Delivered(usize, u32),
    Accept {
        channel: usize,
        timeout: bool,
    },
    /// Its time has run out.
    TimesOut,
}

/// All channels of the execution.
#[derive(Default)]
pub(crate) struct Channels {
    list: Vec<Channel>,
    waits: Vec<Wait>,
    /// How many slots were made since the last bounded channel was begun.
    slots: usize,
}

impl Part for Channels {}

pub(crate) static CHANNELS: PartCell<Channels> = PartCell::new();

/// In guest mode: a function of this kind was entered.
#[cold]
pub(crate) fn enter(kind: FunctionKind) {
    match kind {
        FunctionKind::MakeBounded => CHANNELS.get().slots = 0,
        FunctionKind::MakeSlot => CHANNELS.get().slots += 1,
        _ => {}
    }
}

/// In guest mode: the running thread has got a block of the heap.
#[inline]
pub(crate) fn allocated(start: usize, size: usize) {
    if matches!(
        shadow_stack::region(),
        FunctionKind::MakeUnbounded | FunctionKind::MakeBounded
    ) {
        add(start, size);
    }
}

#[cold]
fn add(start: usize, size: usize) {
    let mut channels = CHANNELS.get();
    let bound = (shadow_stack::region() == FunctionKind::MakeBounded).then_some(channels.slots);
    channels.list.push(Channel {
        block: start..start + size,
        bound,
        object: None,
        ends: [None; 3],
        senders: 1,
        gone: 0,
        sent: Vec::new(),
        is_disconnected: false,
    });
}

fn with<R>(channel: usize, use_it: impl FnOnce(&mut Channel) -> R) -> R {
    use_it(&mut CHANNELS.get().list[channel])
}

fn wait_of<R>(use_it: impl FnOnce(&mut Wait) -> R) -> R {
    let thread = running().thread().index();
    let mut channels = CHANNELS.get();
    if channels.waits.len() <= thread {
        channels.waits.resize(thread + 1, Wait::None);
    }
    use_it(&mut channels.waits[thread])
}

/// In guest mode: the running thread is about to use a word of memory inside the standard library.
pub(crate) fn touch(address: usize, code: usize) {
    let kind = shadow_stack::region();
    if kind == FunctionKind::ChannelWait {
        let site = shadow_stack::users(code);
        return host(|| wait(site));
    }
    let found = {
        let channels = CHANNELS.get();
        let list = channels.list.iter();
        // The newest, if memory was used before.
        list.into_iter().rposition(|it| it.block.contains(&address))
    };
    let Some(channel) = found else { return };
    shadow_stack::disarm();
    let has_deadline = shadow_stack::has_deadline();
    let site = shadow_stack::users(code);
    let top = caller::top();
    host(|| Caller { channel, site, top }.perform(kind, has_deadline));
}

/// In host mode: the running thread is about to park inside the standard library; returns true if it times
/// out.
pub(crate) fn times_out() -> bool {
    wait_of(|wait| matches!(std::mem::replace(wait, Wait::None), Wait::TimesOut))
}

/// The second operation, if there is one.
fn wait(site: usize) {
    let wait = wait_of(|wait| match wait {
        Wait::TimesOut => Wait::None,
        wait => std::mem::replace(wait, Wait::None),
    });
    let caller = |channel| Caller {
        channel,
        site,
        top: Top {
            stack: 0,
            registers: 0,
        },
    };
    match wait {
        Wait::None | Wait::TimesOut => {}
        Wait::Delivered(channel, number) => {
            caller(channel).call(Call::Delivered(number));
        }
        Wait::Accept { channel, timeout } => {
            let answer = caller(channel).call(Call::Accept { timeout }).to_exchange();
            caller(channel).found(answer);
        }
    }
}

/// A thread that uses a channel, somewhere in the program.
#[derive(Clone, Copy)]
struct Caller {
    channel: usize,
    site: usize,
    top: Top,
}

impl Caller {
    fn perform(self, kind: FunctionKind, has_deadline: bool) {
        let bound = with(self.channel, |channel| channel.bound);
        match (kind, bound) {
            (FunctionKind::ChannelSend | FunctionKind::ChannelTrySend, None) => self.send(),
            (FunctionKind::ChannelSend, Some(_)) => {
                if let Exchange::Offered(number) = self.call(Call::Send).to_exchange() {
                    wait_of(|wait| *wait = Wait::Delivered(self.channel, number));
                }
            }
            (FunctionKind::ChannelTrySend, Some(_)) => {
                self.call(Call::TrySend);
            }
            _ if self.is_disconnected() && is_receive(kind) => {}
            (FunctionKind::ChannelReceive, None) => {
                match has_deadline && running().may_time_out() {
                    false => self.receive(),
                    true => {
                        if !self.try_receive() {
                            wait_of(|wait| *wait = Wait::TimesOut);
                        }
                    }
                }
            }
            (FunctionKind::ChannelReceive, Some(bound)) => {
                self.receive_bounded(bound, has_deadline)
            }
            (FunctionKind::ChannelTryReceive, None) => {
                self.try_receive();
            }
            (FunctionKind::ChannelTryReceive, Some(_)) => {
                let answer = self.call(Call::TryReceive).to_exchange();
                self.found_at_once(answer);
            }
            (FunctionKind::SenderClone, None) => {
                let port = running().with_world(|world| self.object(world));
                running().with_world(|world| world.add_sender(port));
                with(self.channel, |channel| channel.senders += 1);
            }
            (FunctionKind::SenderClone, Some(_)) => {
                self.call(Call::Clone);
            }
            (FunctionKind::SenderDrop, None) => self.hang_up(),
            (FunctionKind::SenderDrop, Some(_)) => {
                self.call(Call::HangUp);
            }
            (FunctionKind::ReceiverDrop, None) => {
                let location = |world: &mut World| self.presence(world, ChannelEnd::Receiver);
                running().perform(self.site, |world| Operation::Store {
                    location: location(world),
                    ordering: Ordering::SeqCst,
                    value: Some(1),
                });
                self.take_all();
            }
            (FunctionKind::ReceiverDrop, Some(_)) => {
                self.call(Call::Leave);
                self.take_all();
            }
            _ => {}
        }
    }

    fn is_disconnected(self) -> bool {
        with(self.channel, |channel| channel.is_disconnected)
    }

    /// Returns the object of the channel, created in its initial state at first use.
    fn object(self, world: &mut World) -> ObjectId {
        let (known, address, bound) = with(self.channel, |channel| {
            (channel.object, channel.block.start, channel.bound)
        });
        known.unwrap_or_else(|| {
            let state = match bound {
                None => Object::Port(Port::ordered(1)),
                Some(bound) => Object::Channel(channel::Channel::new(bound)),
            };
            let object = running().add_object(world, KIND, address, state);
            with(self.channel, |channel| channel.object = Some(object));
            object
        })
    }

    /// Returns the location that is set when an end is gone.
    fn presence(self, world: &mut World, end: ChannelEnd) -> LocationId {
        let (known, address) = with(self.channel, |channel| {
            (channel.ends[end as usize], channel.block.start)
        });
        known.unwrap_or_else(|| {
            let location = running().add_location(world, end.kind(), address, 0);
            with(self.channel, |channel| {
                channel.ends[end as usize] = Some(location)
            });
            location
        })
    }

    fn call(self, call: Call) -> Reply {
        let operation = |world: &mut World| Operation::Call {
            object: self.object(world),
            call: object::Call::Channel(call),
        };
        if matches!(call, Call::Send | Call::TrySend) {
            self.pass_on();
        }
        match call {
            Call::TrySend | Call::TryReceive => running().observe(self.site, self.top, operation),
            _ => running().perform(self.site, operation),
        }
    }

    /// The drop of messages that were not received comes after their sends.
    fn pass_on(self) {
        let mut clock = Vec::new();
        running().pass_on(&mut clock);
        with(self.channel, |channel| join(&mut channel.sent, &clock));
    }

    fn take_all(self) {
        let sent = with(self.channel, |channel| std::mem::take(&mut channel.sent));
        if !sent.is_empty() {
            running().take_on(&sent);
        }
    }

    fn looks_gone(self, end: ChannelEnd) -> u64 {
        let load = |world: &mut World| Operation::Load {
            location: self.presence(world, end),
            ordering: Ordering::SeqCst,
        };
        running().perform(self.site, load).to_value()
    }

    fn send(self) {
        if self.looks_gone(ChannelEnd::Receiver) == 0 {
            self.pass_on();
            running().perform(self.site, |world| Operation::Send {
                port: self.object(world),
            });
        }
    }

    fn receive(self) {
        let operation = |world: &mut World| Operation::Receive {
            ports: Ports::One(self.object(world)),
            wait: true,
        };
        let received = running().perform(self.site, operation).to_received();
        if !matches!(received, Received::Message { .. }) {
            with(self.channel, |channel| channel.is_disconnected = true);
        }
    }

    /// True if there is a message.
    fn poll(self, is_first: bool) -> bool {
        let operation = |world: &mut World| Operation::Receive {
            ports: Ports::One(self.object(world)),
            wait: false,
        };
        // Only the first operation of a call can be one that the program does again and again.
        let reply = match is_first {
            true => running().observe(self.site, self.top, operation),
            false => running().perform(self.site, operation),
        };
        matches!(reply.to_received(), Received::Message { .. })
    }

    /// Receives a message, or finds that the channel is disconnected; returns true in both cases.
    fn try_receive(self) -> bool {
        if self.poll(true) {
            return true;
        }
        let is_over = match with(self.channel, |channel| channel.senders) {
            1 => self.looks_gone(ChannelEnd::Sender) == 1,
            _ => {
                self.looks_gone(ChannelEnd::Senders);
                with(self.channel, |channel| channel.gone == channel.senders)
            }
        };
        if !is_over {
            return false;
        }
        // The last of them may have sent something before it went.
        if !self.poll(false) {
            with(self.channel, |channel| channel.is_disconnected = true);
        }
        true
    }

    fn hang_up(self) {
        let has_clones = with(self.channel, |channel| channel.senders > 1);
        running().perform(self.site, |world| Operation::HangUp {
            port: self.object(world),
            location: match has_clones {
                false => self.presence(world, ChannelEnd::Sender),
                // A program that polls depends on the order in which the senders go.
                true if regions::has_looks() => self.presence(world, ChannelEnd::Senders),
                true => {
                    let address = with(self.channel, |channel| channel.block.start);
                    running().add_location(world, ChannelEnd::Sender.kind(), address, 0)
                }
            },
        });
        with(self.channel, |channel| channel.gone += 1);
    }

    fn receive_bounded(self, bound: usize, has_deadline: bool) {
        let timeout = has_deadline && running().may_time_out();
        let first = if timeout && bound > 0 {
            Call::TryReceive
        } else {
            Call::Receive
        };
        let answer = self.call(first).to_exchange();
        if answer == Exchange::Unmatched && bound == 0 {
            let channel = self.channel;
            wait_of(|wait| *wait = Wait::Accept { channel, timeout });
        } else {
            self.found(answer);
        }
    }

    /// Notes the answer of a receive that could wait.
    fn found(self, answer: Exchange) {
        if answer == Exchange::Unmatched {
            wait_of(|wait| *wait = Wait::TimesOut);
        }
        self.found_at_once(answer);
    }

    fn found_at_once(self, answer: Exchange) {
        if answer == Exchange::Disconnected {
            with(self.channel, |channel| channel.is_disconnected = true);
        }
    }
}

fn is_receive(kind: FunctionKind) -> bool {
    matches!(
        kind,
        FunctionKind::ChannelReceive | FunctionKind::ChannelTryReceive
    )
}
