//! Substrates of the program's threads.
//!
//! To the engine each thread is a coroutine on the OS thread that runs the check. By default
//! ([`Coroutines`]) its code runs right there, with the thread pointer changed. Where that does not
//! work, or to compare, its code runs on an OS thread of its own ([`OsThreads`]), represented by
//! the coroutine. Either way one runs at a time and they perform the same events.
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

    /// Runs a guest until its function returns or is left.
    ///
    /// # Safety
    ///
    /// As for [`mode::run`].
    unsafe fn run(task: (usize, usize), pointer: usize, frame: *mut Frame) -> usize;

    /// Runs host code on behalf of the calling guest.
    fn host<R>(work: impl FnOnce() -> R) -> R;

    /// Removes the threads of the execution at its end.
    fn end_execution();
}

/// The kinds of substrates.
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

/// Returns coroutines, if the self-test passes, and OS threads otherwise.
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

/// Prepares the substrate for a check, which ends when the value is dropped.
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

/// Removes the threads of the execution at its end.
pub(crate) fn end_execution() {
    match is_os() {
        false => Coroutines::end_execution(),
        true => OsThreads::end_execution(),
    }
}

/// Returns the end of the stack of the guest with this thread pointer, if it is not its
/// coroutine's.
pub(crate) fn end_of_stack(pointer: usize) -> Option<usize> {
    match of(pointer) {
        SubstrateKind::Coroutines => None,
        SubstrateKind::OsThreads => os::end_of_stack(pointer),
    }
}

/// In guest mode: returns the end of the guest's part of its stack, if it is not its coroutine's.
pub(crate) fn bottom() -> Option<usize> {
    match of(guest::thread_pointer()) {
        SubstrateKind::Coroutines => None,
        SubstrateKind::OsThreads => Some(os::bottom()),
    }
}

/// In guest mode: leaves the current function of the guest, if it is not on its coroutine's stack.
pub(crate) fn leave(result: usize) {
    if of(guest::thread_pointer()) == SubstrateKind::OsThreads {
        os::leave(result);
    }
}
