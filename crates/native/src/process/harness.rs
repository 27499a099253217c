//! The `main` of a test's harness, on a stack of its own.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::program;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::stack;
use crate::host::arena;
use crate::host::phase::{self, Harness};

const STACK: usize = 8 << 20;
const PAGE: usize = 4096;

/// Stack pointer of `main` when it was stopped.
static HARNESS: AtomicUsize = AtomicUsize::new(0);
/// Stack pointer of the host while `main` runs.
static HOST: AtomicUsize = AtomicUsize::new(0);
/// Function and argument of the test's thread.
static TEST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Name of the test's thread for `main`.
const NAME: usize = 1;

/// Prepares a stack on which `main` begins.
pub(crate) fn prepare() {
    let memory = map();
    // SAFETY: `map` returns new pages, which are zeroed, and large enough for the first frame.
    let frame = unsafe { stack::first_frame(memory.end, begin) };
    HARNESS.store(frame, Relaxed);
}

/// Returns the stack pointer of `main` when it was stopped.
pub(crate) fn stack() -> usize {
    HARNESS.load(Relaxed)
}

/// Returns the function of the test's thread, and its argument.
pub(crate) fn test() -> (usize, usize) {
    (TEST[0].load(Relaxed), TEST[1].load(Relaxed))
}

/// Reason why `main` stopped.
pub(crate) enum Stop {
    /// `main` has started the test.
    Test,
    /// `main` has ended, with this status.
    End(c_int),
}

/// Maps a stack for `main`, between two inaccessible pages.
fn map() -> Range<usize> {
    let memory = arena::map_for_program(STACK + 2 * PAGE) as usize;
    assert!(memory != 0, "raddle: no memory for a stack");
    let stack = memory + PAGE..memory + PAGE + STACK;
    for page in [memory, stack.end] {
        // SAFETY: the page is one of those just mapped, outside of the part that becomes the stack.
        unsafe { libc::mprotect(page as *mut _, PAGE, libc::PROT_NONE) };
    }
    stack
}

extern "C" fn begin() -> ! {
    stop(Stop::End(program::call()))
}

/// Continues `main` until it stops.
pub(crate) fn go_on() -> Stop {
    // SAFETY: `prepare` or the `swap` by which `main` stopped last has left the stack in `HARNESS`. A snapshot
    // that was restored since then contains both as they were at such a moment.
    let word = unsafe { stack::swap(HOST.as_ptr(), HARNESS.load(Relaxed), 0) };
    match u32::try_from(word) {
        Ok(status) => Stop::End(status as c_int),
        Err(_) => Stop::Test,
    }
}

/// Stops `main` at its current position, for good.
fn stop(why: Stop) -> ! {
    let word = match why {
        Stop::End(status) => status as u32 as usize,
        Stop::Test => usize::MAX,
    };
    let mut nowhere = 0;
    // SAFETY: `main` runs inside of `go_on`, whose `swap` has left its stack in `HOST` and has not returned.
    unsafe { stack::swap(&mut nowhere, HOST.load(Relaxed), word) };
    unreachable!("raddle: main goes on after its end")
}

/// Handles the creation of a thread by `main`; returns the result of `pthread_create` if it is the
/// test's.
pub(crate) fn create(name: GuestPtr<usize>, function: usize, argument: usize) -> Option<c_int> {
    if phase::harness() != Harness::Before {
        return None;
    }
    for (place, value) in TEST.iter().zip([function, argument]) {
        place.store(value, Relaxed);
    }
    name.write(NAME);
    // SAFETY: `main` runs inside of `go_on`, whose `swap` has left its stack in `HOST` and has not returned.
    unsafe { stack::swap(HARNESS.as_ptr(), HOST.load(Relaxed), usize::MAX) };
    Some(0)
}

/// True if the name is that of the test's thread, which has ended, and `main` joins or detaches it.
pub(crate) fn is_test(name: usize) -> bool {
    phase::is_harness_main() && name == NAME
}

/// Stops `main` with this status, if `main` is the caller.
pub(crate) fn exit(status: c_int) {
    if matches!(phase::harness(), Harness::Before | Harness::After) {
        stop(Stop::End(status));
    }
}
