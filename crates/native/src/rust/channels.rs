//! Channels of `std::sync::mpsc`, as objects of the engine.
//!
//! Accesses of the internals of a channel are no events, so no other thread runs in between. Right
//! before, at its first access of the channel's memory, the thread performs the operation of the
//! engine that represents the call. It waits there for a message or for free capacity, and then
//! continues and finds it. Only without a buffer, where send and receive complete together, is
//! there a second operation, in place of parking.
//!
//! An unbounded receive that does not wait is several operations, between which other threads
//! change the channel's memory. A deciding load may be a stale read under a weak memory model. So
//! the standard library reads the model's decision: the tail of the queue equal to its head, with
//! the mark of a disconnected channel or without it ([`EmptyReceive`]).
//!
//! Senders cannot be distinguished here, as they have no address of their own. So in a program that
//! polls they are counted in one location: cloning and dropping a sender update the count, and a
//! poll loads it.
//!
//! A channel is one block of the heap. Its flavour is known from the function that created it, and
//! its capacity from the number of calls of the function that creates a slot.

use std::sync::atomic::Ordering;

use raddle_engine::memory::clock::join_growing;
use raddle_engine::object::Object;
use raddle_engine::object::channel::{self, Call};
use raddle_engine::object::port::Port;
use raddle_engine::{LocationId, ObjectId, Operation, Reply, Update, UpdateKind, World};

use crate::engine::protocol::call as call_object;
use crate::engine::protocol::channel::{self as protocol, Polled};
use crate::execution::part::{Part, PartCell};
use crate::execution::{Guest, running, shadow_stack};
use crate::host::mode::host;
use crate::names::regions;
use crate::names::rust_paths::FunctionKind;

const KIND: &str = "Channel";

/// Ends of a channel.
#[derive(Clone, Copy)]
enum ChannelEnd {
    /// True once the receiver was dropped.
    Receiver,
    /// Number of senders, if the program polls.
    Senders,
}

impl ChannelEnd {
    fn kind(self) -> &'static str {
        match self {
            ChannelEnd::Receiver => "Receiver",
            ChannelEnd::Senders => "Senders",
        }
    }

    fn initial(self) -> u64 {
        match self {
            ChannelEnd::Receiver => 0,
            ChannelEnd::Senders => 1,
        }
    }
}

struct Channel {
    block: std::ops::Range<usize>,
    /// Capacity; none if senders never wait.
    bound: Option<usize>,
    object: Option<ObjectId>,
    /// Location of each end.
    ends: [Option<LocationId>; 2],
    /// Join of the senders' clocks when they sent.
    sent: Vec<u32>,
    /// True if a receive has found neither a message nor a sender.
    is_disconnected: bool,
}

/// Operation of a thread in place of parking.
#[derive(Clone, Copy)]
enum Wait {
    None,
    /// A call on the channel with this index.
    Call(usize, Call),
    /// A timeout.
    TimesOut,
}

/// A receive for which the model decided that there is no message.
#[derive(Clone, Copy)]
struct EmptyReceive {
    /// Address of the index at the head of the queue.
    head: usize,
    /// Value that the load of the index at the tail must return.
    tail: u64,
}

/// Distance of the two indices, each of which std pads to two cache lines.
const PADDING: usize = 128;
/// Bit of the index at the tail that is set when no sender is left.
const DISCONNECTED: u64 = 1;

/// All channels of the execution.
#[derive(Default)]
pub(crate) struct Channels {
    list: Vec<Channel>,
    waits: Vec<Wait>,
    /// Last receive without a message of each thread.
    answered: Vec<Option<EmptyReceive>>,
    /// Number of slots created since the creation of the last bounded channel began.
    slots: usize,
}

impl Part for Channels {
    fn renew(&mut self) {
        let Channels {
            list,
            waits,
            answered,
            slots,
        } = self;
        list.clear();
        waits.clear();
        answered.clear();
        *slots = 0;
    }
}

pub(crate) static CHANNELS: PartCell<Channels> = PartCell::new();

/// In guest mode: records the entry of a function of this kind.
#[cold]
pub(crate) fn enter(kind: FunctionKind) {
    match kind {
        FunctionKind::MakeBounded => CHANNELS.get().slots = 0,
        FunctionKind::MakeSlot => CHANNELS.get().slots += 1,
        _ => {}
    }
}

/// In guest mode: records a channel, if the running thread has allocated this block for one.
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
        ends: [None; 2],
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

/// In guest mode: performs the operation of the running thread before its first access of memory
/// inside the standard library.
pub(crate) fn touch(address: usize, code: usize) {
    let kind = shadow_stack::region();
    if kind == FunctionKind::ChannelWait {
        let site = shadow_stack::users(code);
        return host(|| wait(site));
    }
    let found = {
        let channels = CHANNELS.get();
        let list = channels.list.iter();
        // The newest channel, if the memory was reused.
        list.into_iter().rposition(|it| it.block.contains(&address))
    };
    let Some(channel) = found else { return };
    shadow_stack::disarm();
    let has_deadline = shadow_stack::has_deadline();
    let site = shadow_stack::users(code);
    let caller = Caller { channel, site };
    match host(|| caller.perform(kind, has_deadline)) {
        None | Some(Polled::Message(_)) => {}
        Some(Polled::Empty) => answer(address, 0),
        Some(Polled::Disconnected) => answer(address, DISCONNECTED),
    }
}

/// In guest mode: makes the running thread, which is about to read the index at the head of a
/// queue, find the queue empty.
fn answer(head: usize, mark: u64) {
    // SAFETY: the program is about to read the index there; only the receiver changes it.
    let index = unsafe { (head as *const u64).read_volatile() };
    let tail = index & !DISCONNECTED | mark;
    let thread = running().thread().index();
    let mut channels = CHANNELS.get();
    if channels.answered.len() <= thread {
        channels.answered.resize(thread + 1, None);
    }
    channels.answered[thread] = Some(EmptyReceive { head, tail });
    shadow_stack::set_answered();
}

/// In guest mode: returns the value that a receive without a message must read at an address, if it
/// is the index at the tail of the queue.
#[cold]
pub(crate) fn found(address: usize) -> Option<u64> {
    let thread = running().thread().index();
    let channels = CHANNELS.get();
    let answered = channels.answered.get(thread).copied().flatten()?;
    (address.abs_diff(answered.head) == PADDING).then_some(answered.tail)
}

/// In host mode: returns true if the running thread, which is about to park inside the standard
/// library, times out.
pub(crate) fn times_out() -> bool {
    wait_of(|wait| matches!(std::mem::replace(wait, Wait::None), Wait::TimesOut))
}

/// Performs the second operation, if there is one.
fn wait(site: usize) {
    let wait = wait_of(|wait| match wait {
        Wait::TimesOut => Wait::None,
        wait => std::mem::replace(wait, Wait::None),
    });
    let caller = |channel| Caller { channel, site };
    match wait {
        Wait::None | Wait::TimesOut => {}
        Wait::Call(channel, call) => {
            let answer = caller(channel).call(call);
            if let Call::Accept { .. } = call {
                caller(channel).found(protocol::answered(answer.to_exchange()));
            }
        }
    }
}

/// Use of a channel, and its site.
#[derive(Clone, Copy)]
struct Caller {
    channel: usize,
    site: usize,
}

impl Caller {
    /// Performs a call; returns the result of a receive from an unbounded channel.
    fn perform(self, kind: FunctionKind, has_deadline: bool) -> Option<Polled> {
        match with(self.channel, |channel| channel.bound) {
            None => self.perform_unbounded(kind, has_deadline),
            Some(bound) => {
                self.perform_bounded(kind, bound, has_deadline);
                None
            }
        }
    }

    fn perform_unbounded(self, kind: FunctionKind, has_deadline: bool) -> Option<Polled> {
        match kind {
            FunctionKind::ChannelSend | FunctionKind::ChannelTrySend => self.send(),
            FunctionKind::ChannelReceive | FunctionKind::ChannelTryReceive => {
                return Some(self.receive(kind, has_deadline));
            }
            FunctionKind::SenderClone => {
                let port = running().with_world(|world| self.object(world));
                running().with_world(|world| world.add_sender(port));
                self.count_senders(UpdateKind::Add(1), Ordering::Relaxed);
            }
            FunctionKind::SenderDrop => self.hang_up(),
            FunctionKind::ReceiverDrop => {
                running().perform(self.site, |world| {
                    protocol::leave(self.end(world, ChannelEnd::Receiver))
                });
                self.take_all();
            }
            _ => {}
        }
        None
    }

    fn perform_bounded(self, kind: FunctionKind, bound: usize, has_deadline: bool) {
        match kind {
            FunctionKind::ChannelSend => {
                if let Some(deliver) = protocol::deliver(self.call(Call::Send).to_exchange()) {
                    wait_of(|wait| *wait = Wait::Call(self.channel, deliver));
                }
            }
            FunctionKind::ChannelTrySend => {
                self.call(Call::TrySend);
            }
            FunctionKind::ChannelReceive | FunctionKind::ChannelTryReceive
                if self.is_disconnected() => {}
            FunctionKind::ChannelReceive => self.receive_bounded(bound, has_deadline),
            FunctionKind::ChannelTryReceive => {
                self.found_at_once(protocol::answered(
                    self.call(Call::TryReceive).to_exchange(),
                ));
            }
            FunctionKind::SenderClone => {
                self.call(Call::Clone);
            }
            FunctionKind::SenderDrop => {
                self.call(Call::HangUp);
            }
            FunctionKind::ReceiverDrop => {
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

    /// Returns the location of an end.
    fn end(self, world: &mut World, end: ChannelEnd) -> LocationId {
        let (known, address) = with(self.channel, |channel| {
            (channel.ends[end as usize], channel.block.start)
        });
        known.unwrap_or_else(|| {
            let location = running().add_location(world, end.kind(), address, end.initial());
            with(self.channel, |channel| {
                channel.ends[end as usize] = Some(location)
            });
            location
        })
    }

    fn call(self, call: Call) -> Reply {
        if matches!(call, Call::Send | Call::TrySend) {
            self.release();
        }
        call_object(Guest, self.site, call, |world| self.object(world))
    }

    /// Joins the clock of a send, so that the drop of messages that were not received happens after
    /// their sends.
    fn release(self) {
        let mut clock = Vec::new();
        running().release_clock(&mut clock);
        with(self.channel, |channel| {
            join_growing(&mut channel.sent, &clock)
        });
    }

    fn take_all(self) {
        let sent = with(self.channel, |channel| std::mem::take(&mut channel.sent));
        if !sent.is_empty() {
            running().acquire(&sent);
        }
    }

    fn send(self) {
        let receiver = |world: &mut World| self.end(world, ChannelEnd::Receiver);
        let port = |world: &mut World| self.object(world);
        self.release();
        protocol::send(Guest, self.site, receiver, port);
    }

    fn receive(self, kind: FunctionKind, has_deadline: bool) -> Polled {
        if self.is_disconnected() {
            return Polled::Disconnected;
        }
        let port = |world: &mut World| self.object(world);
        let senders = |world: &mut World| self.end(world, ChannelEnd::Senders);
        let has_no_sender = || protocol::load(Guest, self.site, senders) == 0;
        let polled = match kind {
            FunctionKind::ChannelReceive if !has_deadline => {
                protocol::receive(Guest, self.site, port)
            }
            FunctionKind::ChannelReceive => {
                protocol::receive_timeout(Guest, self.site, port, has_no_sender)
            }
            _ => protocol::try_receive(Guest, self.site, port, has_no_sender),
        };
        match kind {
            FunctionKind::ChannelReceive => self.found(polled),
            _ => self.found_at_once(polled),
        }
        polled
    }

    fn hang_up(self) {
        self.count_senders(UpdateKind::Sub(1), Ordering::AcqRel);
        running().perform(self.site, |world| {
            let address = with(self.channel, |channel| channel.block.start);
            Operation::HangUp {
                port: self.object(world),
                location: running().add_location(world, "Sender", address, 0),
            }
        });
    }

    /// Updates the number of senders, in a program that polls.
    fn count_senders(self, kind: UpdateKind, ordering: Ordering) {
        if !regions::has_looks() {
            return;
        }
        running().perform(self.site, |world| Operation::Update {
            location: self.end(world, ChannelEnd::Senders),
            ordering,
            failure: Ordering::Relaxed,
            update: Update { kind, bits: 64 },
        });
    }

    fn receive_bounded(self, bound: usize, has_deadline: bool) {
        let timeout = has_deadline && running().may_time_out();
        let first = self
            .call(protocol::receive_bounded(bound, timeout))
            .to_exchange();
        match protocol::accept(first, bound, timeout) {
            Some(accept) => wait_of(|wait| *wait = Wait::Call(self.channel, accept)),
            None => self.found(protocol::answered(first)),
        }
    }

    /// Records the result of a receive that could wait.
    fn found(self, polled: Polled) {
        if polled == Polled::Empty {
            wait_of(|wait| *wait = Wait::TimesOut);
        }
        self.found_at_once(polled);
    }

    fn found_at_once(self, polled: Polled) {
        if polled == Polled::Disconnected {
            with(self.channel, |channel| channel.is_disconnected = true);
        }
    }
}
