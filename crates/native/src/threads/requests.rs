//! Requests of one thread to another, independent of its current operation: to be cancelled, or to
//! handle a signal.
//!
//! Each thread has a location of the engine with a bit for each request. A request sets a bit; the
//! thread loads its bits where it may handle them, so the moment at which it reads a request is
//! explored. A [waiting](super::queues) thread registers its waiter under the same location, and is
//! woken.
//!
//! A program that imports no function for requests has none of these operations.

use std::sync::Once;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_engine::{LocationId, Operation, ThreadId, UpdateKind};

use super::queues::{self, QueueKey, Waiter};
use crate::abi::caller::keeping_top;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::imports;
use crate::names::regions;

/// Functions that send signals.
const SENDERS: &[&str] = &[
    "pthread_kill",
    "kill",
    "killpg",
    "tgkill",
    "sigqueue",
    "pthread_sigqueue",
    "alarm",
    "ualarm",
    "setitimer",
];

/// The bit of a cancellation; signals have the bits of their numbers.
pub(crate) const CANCEL: u64 = 1;

/// Request that a thread handles before it continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interrupt {
    /// No request.
    None,
    /// The thread must end.
    Cancel,
    /// The thread must handle signals.
    Signal,
}

/// Requests to one thread.
#[derive(Clone, Default)]
struct Attention {
    location: Option<LocationId>,
    /// Waiter of the thread's current wait.
    waiter: Option<Waiter>,
    /// Bits that are masked.
    masked: u64,
}

/// The requests of all threads of the execution.
#[derive(Default)]
pub(crate) struct Requests(Vec<Attention>);

impl Part for Requests {
    fn renew(&mut self) {
        let Requests(threads) = self;
        threads.clear();
    }
}

pub(crate) static REQUESTS: PartCell<Requests> = PartCell::new();

/// True if the program imports functions that cancel threads; true if it imports functions that
/// send signals.
static CANCELS: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicBool = AtomicBool::new(false);

/// True if there may be requests.
pub(crate) fn are_possible() -> bool {
    CANCELS.load(Relaxed) || SIGNALS.load(Relaxed)
}

/// True if there may be cancellations.
pub(super) fn has_cancellations() -> bool {
    CANCELS.load(Relaxed)
}

/// True if there may be signals.
#[inline]
pub(crate) fn has_signals() -> bool {
    SIGNALS.load(Relaxed)
}

/// At the beginning of a check: determines the possible requests.
pub(crate) fn prepare() {
    static HAS_LOOKED: Once = Once::new();
    HAS_LOOKED.call_once(|| {
        CANCELS.store(imports::any(&["pthread_cancel"]), Relaxed);
        // Rust's standard library imports `kill` for children, even if the program never calls it.
        let is_sent = |name: &&&str| !(regions::is_rust() && **name == "kill");
        let senders: Vec<&str> = SENDERS.iter().filter(is_sent).copied().collect();
        SIGNALS.store(imports::any(&senders), Relaxed);
    });
}

fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Attention) -> R) -> R {
    let threads = &mut REQUESTS.get().0;
    if threads.len() <= thread.index() {
        threads.resize(thread.index() + 1, Attention::default());
    }
    use_it(&mut threads[thread.index()])
}

/// First address of the queues of requests, beyond the program's addresses.
const FIRST: usize = 1 << 61;

fn place(thread: ThreadId) -> QueueKey {
    QueueKey {
        address: FIRST + thread.index() * 16,
        kind: if has_signals() {
            "signals"
        } else {
            "cancellation"
        },
    }
}

fn update(thread: ThreadId, kind: UpdateKind, code: usize) -> u64 {
    let location = |new: &mut dyn FnMut() -> LocationId| {
        with(thread, |it| *it.location.get_or_insert_with(new))
    };
    queues::update(place(thread), location, kind, code)
}

/// Returns the interrupt of the running thread for these bits.
fn interrupt(bits: u64) -> Interrupt {
    let masked = with(running().thread(), |it| it.masked);
    match bits & !masked {
        0 => Interrupt::None,
        bits if bits & CANCEL != 0 => Interrupt::Cancel,
        _ => Interrupt::Signal,
    }
}

/// Changes the mask of the running thread; returns the mask before.
pub(crate) fn mask(change: impl FnOnce(u64) -> u64) -> u64 {
    with(running().thread(), |it| {
        let before = it.masked;
        it.masked = change(before);
        before
    })
}

/// Returns the mask of a thread.
pub(crate) fn masked(thread: ThreadId) -> u64 {
    with(thread, |it| it.masked)
}

/// Sets the mask of a new thread: that of its creator, except for cancellation.
pub(crate) fn inherit(child: ThreadId) {
    let masked = masked(running().thread()) & !CANCEL;
    if masked != 0 {
        with(child, |it| it.masked = masked);
    }
}

/// Makes a request of the running thread to another.
pub(crate) fn request(thread: ThreadId, bit: u64, code: usize) {
    update(thread, UpdateKind::Or(bit), code);
    if let Some(waiter) = with(thread, |it| it.waiter.take()) {
        queues::wake(waiter, code);
    }
}

/// Loads the requests of the running thread; returns their bits.
pub(crate) fn look(code: usize) -> u64 {
    let (native, thread) = (running(), running().thread());
    let load = |world: &mut _| {
        let place = place(thread);
        let mut new = || native.add_location(world, place.kind, place.address, 0);
        Operation::Load {
            location: with(thread, |it| *it.location.get_or_insert_with(&mut new)),
            ordering: Ordering::Acquire,
        }
    };
    keeping_top(|| native.perform(code, load)).to_value()
}

/// Clears the requests with these bits; returns the bits before.
pub(crate) fn clear(bits: u64, code: usize) -> u64 {
    update(running().thread(), UpdateKind::And(!bits), code)
}

/// Registers the waiter of the running thread, unless the wait is interrupted at once.
fn begin_wait(waiter: Waiter, code: usize) -> Interrupt {
    if !are_possible() {
        return Interrupt::None;
    }
    let thread = running().thread();
    let interrupt = interrupt(update(thread, UpdateKind::Or(0), code));
    if interrupt == Interrupt::None {
        with(thread, |it| it.waiter = Some(waiter));
    }
    interrupt
}

/// Removes the waiter of the running thread; returns the interrupt, if there is one.
fn end_wait(code: usize) -> Interrupt {
    if !are_possible() {
        return Interrupt::None;
    }
    let thread = running().thread();
    let bits = update(thread, UpdateKind::Or(0), code);
    with(thread, |it| it.waiter = None);
    interrupt(bits)
}

/// Waits until the waiter is woken, or the wait is interrupted.
pub(crate) fn wait(waiter: Waiter, code: usize) -> Interrupt {
    let interrupt = begin_wait(waiter, code);
    if interrupt != Interrupt::None {
        return interrupt;
    }
    queues::block(waiter, code);
    end_wait(code)
}
