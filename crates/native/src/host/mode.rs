//! Two kinds of code: the program's (*guest*) and raddle's (*host*).
//!
//! Each thread of the program has thread-local storage of its own, which the processor finds through
//! the thread pointer (the base of `fs`). Host code always runs with the thread pointer of the OS
//! thread that runs the check. So host code may use all of Rust and the C library, and raddle's
//! coroutines are switched only while the thread pointer is the host's.
//!
//! * [`run`] runs guest code until it returns, or [`leave`] is called.
//! * [`host`] runs host code from a replaced function that guest code has called.
//!
//! The [`substrate`] runs guest code. One thread runs at a time: `GUEST` is the thread pointer of
//! the running guest, and 0 while the host runs. An OS thread that is not controlled has another
//! thread pointer, and [`is_guest`] is false for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::substrate::{self, Coroutines, OsThreads, Substrate, SubstrateKind};
use crate::abi::alternate_stack;
use crate::abi::guest::{self, GUEST};
use crate::abi::stack::{self, Frame};

static HOST: AtomicUsize = AtomicUsize::new(0);
/// Incremented at each step of a guest during which others may have run.
pub(crate) static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Makes the calling OS thread the one that runs checks.
pub(crate) fn set_host() {
    HOST.store(guest::thread_pointer(), Relaxed);
}

/// Returns the thread pointer of the OS thread that runs checks; the first thread of an execution
/// has it too.
pub(crate) fn host_pointer() -> usize {
    HOST.load(Relaxed)
}

/// True if the caller is code of the program under test, on a controlled thread.
#[inline(always)]
pub(crate) fn is_guest() -> bool {
    let guest = GUEST.load(Relaxed);
    guest != 0 && guest == guest::thread_pointer()
}

/// Returns a number that stays the same until other guests may have run.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    EPOCH.load(Relaxed)
}

pub(crate) fn next_epoch() {
    EPOCH.store(EPOCH.load(Relaxed) + 1, Relaxed);
}

/// Runs host code on behalf of the calling guest; other guests may run meanwhile.
#[inline]
pub(crate) fn host<R>(work: impl FnOnce() -> R) -> R {
    let alternate = alternate_stack::get();
    let result = match substrate::of(GUEST.load(Relaxed)) {
        SubstrateKind::Coroutines => Coroutines::host(work),
        SubstrateKind::OsThreads => OsThreads::host(work),
    };
    alternate_stack::set(alternate);
    result
}

pub(crate) fn errno() -> i32 {
    // SAFETY: `__errno_location` returns the address of a variable of the calling thread.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno` of the calling thread.
pub(crate) fn set_errno(error: i32) {
    // SAFETY: `__errno_location` returns the address of a variable of the calling thread.
    unsafe { *libc::__errno_location() = error };
}

/// Ends control of the running guest: this is a process of its own.
pub(crate) fn release() {
    GUEST.store(0, Relaxed);
}

/// Runs `function(argument)` as the guest with this thread pointer and this alternate stack.
/// Meanwhile `frame` is the frame by which the call can be left.
///
/// # Safety
///
/// The function must be one of the program's, or of ours for guests, and take such an argument. There
/// must be a block of thread-local storage at the thread pointer, and room for the frame.
pub(crate) unsafe fn run(
    (function, argument): (usize, usize),
    (thread_pointer, alternate): (usize, usize),
    frame: *mut Frame,
) -> usize {
    next_epoch();
    alternate_stack::set(alternate);
    let task = (function, argument);
    // SAFETY: the function takes the argument, there is a block of thread-local storage at the thread pointer,
    // and the frame can be read and written, as the caller promises.
    unsafe {
        let before = *frame;
        let result = match substrate::of(thread_pointer) {
            SubstrateKind::Coroutines => Coroutines::run(task, thread_pointer, frame),
            SubstrateKind::OsThreads => OsThreads::run(task, thread_pointer, frame),
        };
        // A guest may run nested in its own earlier call.
        *frame = before;
        result
    }
}

/// Continues where [`run`] returns; may be called in both modes.
///
/// # Safety
///
/// The frame must be that of the `run` that the calling thread is in, and nothing between there and
/// here may need to be dropped.
pub(crate) unsafe fn leave(frame: Frame, result: usize) -> ! {
    if is_guest() {
        substrate::leave(result);
    }
    // SAFETY: the frame is that of a call that this thread is in, with nothing to be dropped between, as the
    // caller promises.
    unsafe { stack::leave(frame, result) }
}
