//! What one thread of the program wants of another whatever that does: to be cancelled, or to handle a
//! signal.
//!
//! Each thread has a location of the engine's with a bit for each such request. Who wants something sets a
//! bit; the thread looks at its bits where it may act on them, so when it comes to know of a request is
//! explored. Who is asleep ([`queues`](crate::threads::queues)) says so under the same location, and is woken.
//!
//! None of this is done in a program that calls no function which could want something.

use std::sync::Once;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_engine::{LocationId, Operation, ThreadId, UpdateKind};

use super::queues::{self, Bed, Place};
use crate::abi::caller::keeping_top;
use crate::execution::running;
use crate::host::imports;
use crate::host::solo::Solo;
use crate::names::regions;

/// What a program calls that sends signals to others.
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

/// What a thread is to do before it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interrupt {
    /// Nothing.
    None,
    /// It is to end.
    Cancel,
    /// It is to handle signals.
    Signal,
}

/// What is known of one thread.
#[derive(Clone, Default)]
struct Attention {
    location: Option<LocationId>,
    /// Where it sleeps.
    bed: Option<Bed>,
    /// The bits that it does not want to know of now.
    masked: u64,
}

static THREADS: Solo<Vec<Attention>> = Solo::new(Vec::new());

/// Whether the program calls what cancels threads, and what sends signals.
static CANCELS: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicBool = AtomicBool::new(false);

/// Whether there may be requests.
pub(crate) fn are_possible() -> bool {
    CANCELS.load(Relaxed) || SIGNALS.load(Relaxed)
}

/// Whether there may be cancellations.
pub(super) fn has_cancellations() -> bool {
    CANCELS.load(Relaxed)
}

/// Whether there may be signals.
#[inline]
pub(crate) fn has_signals() -> bool {
    SIGNALS.load(Relaxed)
}

/// At the beginning of an execution.
pub(crate) fn begin() {
    static HAS_LOOKED: Once = Once::new();
    HAS_LOOKED.call_once(|| {
        CANCELS.store(imports::any(&["pthread_cancel"]), Relaxed);
        // Rust's standard library can end children, whether or not anybody wants that.
        let is_sent = |name: &&&str| !(regions::is_rust() && **name == "kill");
        let senders: Vec<&str> = SENDERS.iter().filter(is_sent).copied().collect();
        SIGNALS.store(imports::any(&senders), Relaxed);
    });
    THREADS.get().clear();
}

fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Attention) -> R) -> R {
    let mut threads = THREADS.get();
    if threads.len() <= thread.index() {
        threads.resize(thread.index() + 1, Attention::default());
    }
    use_it(&mut threads[thread.index()])
}

/// A number that stands for the address of a thread's requests.
const FIRST: usize = 1 << 61;

fn place(thread: ThreadId) -> Place {
    Place {
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

/// What these bits ask of the running thread.
fn interrupt(bits: u64) -> Interrupt {
    let masked = with(running().thread(), |it| it.masked);
    match bits & !masked {
        0 => Interrupt::None,
        bits if bits & CANCEL != 0 => Interrupt::Cancel,
        _ => Interrupt::Signal,
    }
}

/// Bits that the running thread does not want to know of, before and from now on.
pub(crate) fn mask(change: impl FnOnce(u64) -> u64) -> u64 {
    with(running().thread(), |it| {
        let before = it.masked;
        it.masked = change(before);
        before
    })
}

/// Bits that a thread does not want to know of.
pub(crate) fn masked(thread: ThreadId) -> u64 {
    with(thread, |it| it.masked)
}

/// A thread begins with what its creator did not want to know of, but for cancellation.
pub(crate) fn inherit(child: ThreadId) {
    let masked = masked(running().thread()) & !CANCEL;
    if masked != 0 {
        with(child, |it| it.masked = masked);
    }
}

/// The running thread wants something of another.
pub(crate) fn request(thread: ThreadId, bit: u64, code: usize) {
    update(thread, UpdateKind::Or(bit), code);
    if let Some(bed) = with(thread, |it| it.bed.take()) {
        queues::wake(bed, code);
    }
}

/// The running thread looks for what is wanted of it.
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

/// Takes requests with these bits back; what bits there were.
pub(crate) fn settle(bits: u64, code: usize) -> u64 {
    update(running().thread(), UpdateKind::And(!bits), code)
}

/// The running thread is about to sleep, unless it is wanted.
fn lie_down(bed: Bed, code: usize) -> Interrupt {
    if !are_possible() {
        return Interrupt::None;
    }
    let thread = running().thread();
    let interrupt = interrupt(update(thread, UpdateKind::Or(0), code));
    if interrupt == Interrupt::None {
        with(thread, |it| it.bed = Some(bed));
    }
    interrupt
}

/// The running thread has slept; whether it is wanted.
fn get_up(code: usize) -> Interrupt {
    if !are_possible() {
        return Interrupt::None;
    }
    let thread = running().thread();
    let bits = update(thread, UpdateKind::Or(0), code);
    with(thread, |it| it.bed = None);
    interrupt(bits)
}

/// Waits until somebody wakes the bed, or something else needs the thread.
pub(crate) fn sleep(bed: Bed, code: usize) -> Interrupt {
    let interrupt = lie_down(bed, code);
    if interrupt != Interrupt::None {
        return interrupt;
    }
    queues::wait(bed, code);
    get_up(code)
}
