//! Where the program's threads run.
//!
//! To the engine each is a coroutine on the OS thread that runs the check. By default
//! ([`Coroutines`]) its code runs right there, with the thread pointer changed. Where that cannot be
//! trusted, or to compare, its code runs on an OS thread of its own ([`OsThreads`]), and the coroutine
//! stands in for it. Either way one runs at a time and they do the same, event for event.
//!
//! The first thread of an execution shares the thread-local storage of the OS thread that runs the
//! check, and always runs there.

mod baton;
mod coroutines;
mod os;
mod self_test;
mod thread;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::abi::guest;
use crate::abi::stack::Frame;
use crate::host::mode;

pub(crate) use coroutines::Coroutines;
pub(crate) use os::OsThreads;

/// How guest code runs.
pub(crate) trait Substrate {
    /// Makes what a thread with this number needs; its thread pointer.
    fn create(number: usize) -> usize;

    /// Lets a guest run until its function returns or is left.
    ///
    /// # Safety
    ///
    /// As for [`mode::run`].
    unsafe fn run(task: (usize, usize), pointer: usize, frame: *mut Frame) -> usize;

    /// Runs host code on behalf of the guest that calls.
    fn host<R>(work: impl FnOnce() -> R) -> R;

    /// The execution is over: nothing is left of its threads.
    fn end_execution();
}

/// The substrates there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Coroutines,
    OsThreads,
}

const VARIABLE: &str = "RADDLE_SUBSTRATE";
static IS_OS: AtomicBool = AtomicBool::new(false);

/// Where the guest with this thread pointer runs.
#[inline(always)]
pub(crate) fn of(pointer: usize) -> Kind {
    match IS_OS.load(Relaxed) && pointer != mode::host_pointer() {
        true => Kind::OsThreads,
        false => Kind::Coroutines,
    }
}

/// Settles where threads run, as the environment says or a self-test finds; says on standard error if
/// that is not what was to be expected.
pub(crate) fn choose() {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let kind = match wanted.trim() {
        "os" => Kind::OsThreads,
        "" | "coroutine" => tested(),
        other => {
            eprintln!("raddle: {VARIABLE}: `{other}` is neither `coroutine` nor `os`");
            // SAFETY: nothing has been done yet that needs to be brought to an end.
            unsafe { libc::_exit(2) }
        }
    };
    IS_OS.store(kind == Kind::OsThreads, Relaxed);
}

/// Coroutines, if they work here.
fn tested() -> Kind {
    coroutines::prepare();
    match self_test::run() {
        Ok(()) => Kind::Coroutines,
        Err(problem) => {
            eprintln!(
                "raddle: threads are run as OS threads, which is slower, because coroutines would not \
                 work here: {problem}"
            );
            Kind::OsThreads
        }
    }
}

/// Whether threads have OS threads of their own.
pub(crate) fn is_os() -> bool {
    IS_OS.load(Relaxed)
}

/// A check begins; ends with what this is.
pub(crate) fn begin() -> Option<os::Pinned> {
    is_os().then(os::Pinned::new)
}

/// Makes what a thread with this number needs; its thread pointer.
pub(crate) fn create(number: usize) -> usize {
    match is_os() {
        false => Coroutines::create(number),
        true => OsThreads::create(number),
    }
}

/// The execution is over: nothing is left of its threads.
pub(crate) fn end_execution() {
    match is_os() {
        false => Coroutines::end_execution(),
        true => OsThreads::end_execution(),
    }
}

/// Where the stack ends that the guest with this thread pointer has to itself, if it is not that of its
/// coroutine.
pub(crate) fn end_of_stack(pointer: usize) -> Option<usize> {
    match of(pointer) {
        Kind::Coroutines => None,
        Kind::OsThreads => os::end_of_stack(pointer),
    }
}

/// In guest mode: where the guest's part of its stack ends, if it is not that of its coroutine.
pub(crate) fn bottom() -> Option<usize> {
    match of(guest::thread_pointer()) {
        Kind::Coroutines => None,
        Kind::OsThreads => Some(os::bottom()),
    }
}

/// In guest mode: leaves the function that the guest is in, if that is not on the stack of its coroutine.
pub(crate) fn leave(result: usize) {
    if of(guest::thread_pointer()) == Kind::OsThreads {
        os::leave(result);
    }
}
