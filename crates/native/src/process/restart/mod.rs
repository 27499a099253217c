//! How every execution begins with the same state of the program.
//!
//! * [`RestartKind::Snapshot`]: the program's memory is copied when the check begins, and copied back. State
//!   of the kernel is not restored.
//! * [`RestartKind::Fork`]: every execution runs in a process of its own, so that all state of a process is
//!   restored: mappings, open files, handlers of signals.
//! * [`RestartKind::Loop`]: nothing is restored; for functions that clean up after themselves.

mod fork;
mod heap_mark;
pub(crate) mod irreversible;
pub(crate) mod private_fork;

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::memory::snapshot;

/// The ways there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RestartKind {
    Snapshot,
    Fork,
    Loop,
}

const VARIABLE: &str = "RADDLE_RESTART";
static KIND: AtomicU8 = AtomicU8::new(RestartKind::Snapshot as u8);

fn kind() -> RestartKind {
    [RestartKind::Snapshot, RestartKind::Fork, RestartKind::Loop][usize::from(KIND.load(Relaxed))]
}

/// True if executions have processes of their own.
pub(crate) fn is_fork() -> bool {
    kind() == RestartKind::Fork
}

/// True if memory is all that is put back.
pub(crate) fn is_snapshot() -> bool {
    kind() == RestartKind::Snapshot
}

/// True if the environment selects the kind.
fn is_chosen() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Selects the kind by the environment.
pub(crate) fn choose() {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let kind = match wanted.trim() {
        "" | "snapshot" => RestartKind::Snapshot,
        "fork" => RestartKind::Fork,
        "loop" => RestartKind::Loop,
        other => {
            eprintln!("raddle: {VARIABLE}: `{other}` is none of `snapshot`, `fork` and `loop`");
            // SAFETY: `_exit` has no precondition.
            unsafe { libc::_exit(2) }
        }
    };
    KIND.store(kind as u8, Relaxed);
}

/// Runs a whole check; `stack` is from where on the caller's stack belongs to the program.
pub(crate) fn run<R>(stack: usize, check: impl FnOnce() -> R) -> R {
    match kind() {
        RestartKind::Snapshot => {
            snapshot::begin(stack);
            irreversible::watch();
            let result = check();
            snapshot::end();
            result
        }
        RestartKind::Fork => {
            heap_mark::set();
            let result = fork::run(check);
            heap_mark::reset();
            result
        }
        RestartKind::Loop => {
            heap_mark::set();
            check()
        }
    }
}

/// An execution begins, in its first thread.
pub(crate) fn begin_execution() {
    match kind() {
        RestartKind::Snapshot => snapshot::restore(),
        RestartKind::Fork => {
            heap_mark::reset();
            fork::split();
        }
        RestartKind::Loop => heap_mark::reset_if_unused(),
    }
}

/// An execution is over, and nothing more of the program runs in it.
pub(crate) fn end_execution() {
    if is_fork() {
        fork::join();
    }
}
