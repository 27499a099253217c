//! Channels of `std::sync::mpsc`, as objects of the engine.
//!
//! What a channel does inside is quiet, so nobody runs in the middle of it. Right before, at its first use of
//! the channel's memory, the thread does the operation of the engine that stands for the call: it waits there
//! for a message or for room, and then goes on and finds what it waited for. Only without a buffer, where the
//! two sides meet, is there a second operation, in the place where a thread would park.
//!
//! A channel is one block of the heap. Its flavour is known from who made it, and how large its buffer is from
//! how often the function was called that makes a slot.

use std::sync::atomic::Ordering;

use raddle_engine::object::channel::{self, Answer, Call};
use raddle_engine::object::port::Port;
use raddle_engine::object::{self, Object};
use raddle_engine::{LocationId, ObjectId, Operation, Ports, Received, World};

use super::clocks::join;
use crate::abi::caller;
use crate::engine::Top;
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::host::solo::Solo;
use crate::names::regions;
use crate::names::rust_paths::Kind;

const KIND: &str = "Channel";

/// What may be gone of a channel.
#[derive(Clone, Copy)]
enum End {
    Receiver,
    /// The only sender.
    Sender,
    /// One of several, if somebody looks.
    Senders,
}

impl End {
    fn kind(self) -> &'static str {
        match self {
            End::Receiver => "Receiver",
            End::Sender => "Sender",
            End::Senders => "Senders",
        }
    }
}

struct Channel {
    block: std::ops::Range<usize>,
    /// Nothing if senders never wait.
    bound: Option<usize>,
    object: Option<ObjectId>,
    /// By end: whether it is gone.
    ends: [Option<LocationId>; 3],
    /// How many senders there were, and how many of them are gone.
    senders: u64,
    gone: u64,
    /// What the senders had done and seen when they sent.
    sent: Vec<u32>,
    /// It was found that there is no message and no sender any more.
    is_disconnected: bool,
}

/// What a thread is about to do instead of parking.
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

struct Channels {
    list: Vec<Channel>,
    waits: Vec<Wait>,
    /// How many slots were made since the last bounded channel was begun.
    slots: usize,
}

static CHANNELS: Solo<Channels> = Solo::new(Channels {
    list: Vec::new(),
    waits: Vec::new(),
    slots: 0,
});

/// At the beginning of an execution.
pub(crate) fn begin() {
    let mut channels = CHANNELS.get();
    channels.list.clear();
    channels.waits.clear();
}

/// In guest mode: a function of this kind was entered.
#[cold]
pub(crate) fn enter(kind: Kind) {
    match kind {
        Kind::MakeBounded => CHANNELS.get().slots = 0,
        Kind::MakeSlot => CHANNELS.get().slots += 1,
        _ => {}
    }
}

/// In guest mode: the running thread has got a block of the heap.
#[inline]
pub(crate) fn allocated(start: usize, size: usize) {
    if matches!(
        shadow_stack::region(),
        Kind::MakeUnbounded | Kind::MakeBounded
    ) {
        add(start, size);
    }
}

#[cold]
fn add(start: usize, size: usize) {
    let mut channels = CHANNELS.get();
    let bound = (shadow_stack::region() == Kind::MakeBounded).then_some(channels.slots);
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
    if kind == Kind::ChannelWait {
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

/// In host mode: the running thread is about to park inside the standard library; whether its time is to run
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
            let answer = caller(channel).call(Call::Accept { timeout });
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
    fn perform(self, kind: Kind, has_deadline: bool) {
        let bound = with(self.channel, |channel| channel.bound);
        match (kind, bound) {
            (Kind::ChannelSend | Kind::ChannelTrySend, None) => self.send(),
            (Kind::ChannelSend, Some(_)) => {
                if let Answer::Offered(number) = self.call(Call::Send) {
                    wait_of(|wait| *wait = Wait::Delivered(self.channel, number));
                }
            }
            (Kind::ChannelTrySend, Some(_)) => {
                self.call(Call::TrySend);
            }
            _ if self.is_disconnected() && is_receive(kind) => {}
            (Kind::ChannelReceive, None) => match has_deadline && running().may_time_out() {
                false => self.receive(),
                true => {
                    if !self.try_receive() {
                        wait_of(|wait| *wait = Wait::TimesOut);
                    }
                }
            },
            (Kind::ChannelReceive, Some(bound)) => self.receive_bounded(bound, has_deadline),
            (Kind::ChannelTryReceive, None) => {
                self.try_receive();
            }
            (Kind::ChannelTryReceive, Some(_)) => {
                let answer = self.call(Call::TryReceive);
                self.found_at_once(answer);
            }
            (Kind::SenderClone, None) => {
                let port = running().with_world(|world| self.object(world));
                running().with_world(|world| world.add_sender(port));
                with(self.channel, |channel| channel.senders += 1);
            }
            (Kind::SenderClone, Some(_)) => {
                self.call(Call::Clone);
            }
            (Kind::SenderDrop, None) => self.hang_up(),
            (Kind::SenderDrop, Some(_)) => {
                self.call(Call::HangUp);
            }
            (Kind::ReceiverDrop, None) => {
                let location = |world: &mut World| self.presence(world, End::Receiver);
                running().perform(self.site, |world| Operation::Store {
                    location: location(world),
                    ordering: Ordering::SeqCst,
                    value: 1,
                });
                self.take_all();
            }
            (Kind::ReceiverDrop, Some(_)) => {
                self.call(Call::Leave);
                self.take_all();
            }
            _ => {}
        }
    }

    fn is_disconnected(self) -> bool {
        with(self.channel, |channel| channel.is_disconnected)
    }

    /// The object of the channel, in its initial state if nobody has used it.
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

    /// The location that says whether an end is gone.
    fn presence(self, world: &mut World, end: End) -> LocationId {
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

    fn call(self, call: Call) -> Answer {
        let operation = |world: &mut World| Operation::Call {
            object: self.object(world),
            call: object::Call::Channel(call),
        };
        if matches!(call, Call::Send | Call::TrySend) {
            self.pass_on();
        }
        Answer::of(match call {
            Call::TrySend | Call::TryReceive => running().observe(self.site, self.top, operation),
            _ => running().perform(self.site, operation),
        })
    }

    /// Whoever drops what nobody has received comes after those who sent it.
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

    fn looks_gone(self, end: End) -> u64 {
        let load = |world: &mut World| Operation::Load {
            location: self.presence(world, end),
            ordering: Ordering::SeqCst,
        };
        running().perform(self.site, load).to_value()
    }

    fn send(self) {
        if self.looks_gone(End::Receiver) == 0 {
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

    /// Whether there is a message.
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

    /// Receives a message, or finds that there will be none; whether either is so.
    fn try_receive(self) -> bool {
        if self.poll(true) {
            return true;
        }
        let is_over = match with(self.channel, |channel| channel.senders) {
            1 => self.looks_gone(End::Sender) == 1,
            _ => {
                self.looks_gone(End::Senders);
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
                false => self.presence(world, End::Sender),
                // Who looks wants to know of all of them, and in which order they go.
                true if regions::has_looks() => self.presence(world, End::Senders),
                true => {
                    let address = with(self.channel, |channel| channel.block.start);
                    running().add_location(world, End::Sender.kind(), address, 0)
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
        let answer = self.call(first);
        if answer == Answer::Nobody && bound == 0 {
            let channel = self.channel;
            wait_of(|wait| *wait = Wait::Accept { channel, timeout });
        } else {
            self.found(answer);
        }
    }

    /// What a receive that could wait has found.
    fn found(self, answer: Answer) {
        if answer == Answer::Nobody {
            wait_of(|wait| *wait = Wait::TimesOut);
        }
        self.found_at_once(answer);
    }

    fn found_at_once(self, answer: Answer) {
        if answer == Answer::Disconnected {
            with(self.channel, |channel| channel.is_disconnected = true);
        }
    }
}

fn is_receive(kind: Kind) -> bool {
    matches!(kind, Kind::ChannelReceive | Kind::ChannelTryReceive)
}
