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

/// Ways to run guest code.
pub(crate) trait Substrate {
    /// Creates the resources of a thread with this number; returns its thread pointer.
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
pub(crate) enum SubstrateKind {
    Coroutines,
    OsThreads,
}

static IS_OS: AtomicBool = AtomicBool::new(false);

/// Returns the substrate of the guest with this thread pointer.
#[inline(always)]
pub(crate) fn of(pointer: usize) -> SubstrateKind {
    match IS_OS.load(Relaxed) && pointer != mode::host_pointer() {
        true => SubstrateKind::OsThreads,
        false => SubstrateKind::Coroutines,
    }
}

/// Chooses the substrate, by the setting or a self-test; prints a message if the choice is unusual.
pub(crate) fn choose(wanted: Option<raddle_settings::Substrate>) {
    let kind = match wanted {
        Some(raddle_settings::Substrate::Os) => SubstrateKind::OsThreads,
        None | Some(raddle_settings::Substrate::Coroutine) => tested(),
    };
    IS_OS.store(kind == SubstrateKind::OsThreads, Relaxed);
}

/// Coroutines, if they work here.
fn tested() -> SubstrateKind {
    coroutines::prepare();
    match self_test::run() {
        Ok(()) => SubstrateKind::Coroutines,
        Err(problem) => {
            eprintln!(
                "raddle: threads are run as OS threads, which is slower, because coroutines would not \
                 work here: {problem}"
            );
            SubstrateKind::OsThreads
        }
    }
}

/// True if threads have OS threads of their own.
pub(crate) fn is_os() -> bool {
    IS_OS.load(Relaxed)
}

/// A check begins; it ends when the value is dropped.
pub(crate) fn begin() -> Option<os::Pinned> {
    is_os().then(os::Pinned::new)
}

/// Creates the resources of a thread with this number; returns its thread pointer.
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
        SubstrateKind::Coroutines => None,
        SubstrateKind::OsThreads => os::end_of_stack(pointer),
    }
}

/// In guest mode: where the guest's part of its stack ends, if it is not that of its coroutine.
pub(crate) fn bottom() -> Option<usize> {
    match of(guest::thread_pointer()) {
        SubstrateKind::Coroutines => None,
        SubstrateKind::OsThreads => Some(os::bottom()),
    }
}

/// In guest mode: leaves the function that the guest is in, if that is not on the stack of its coroutine.
pub(crate) fn leave(result: usize) {
    if of(guest::thread_pointer()) == SubstrateKind::OsThreads {
        os::leave(result);
    }
}
