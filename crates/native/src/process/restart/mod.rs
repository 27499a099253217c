//! How every execution begins with the same state of the program.
//!
//! * [`Kind::Snapshot`]: the program's memory is copied when the check begins, and copied back. What the
//!   kernel has is not put back.
//! * [`Kind::Fork`]: every execution runs in a process of its own, so that everything that belongs to
//!   a process is as it was: memory that the program maps by itself, open files, handlers of signals.
//! * [`Kind::Loop`]: nothing is put back; for functions that clean up after themselves.

mod fork;
mod heap_mark;
pub(crate) mod irreversible;
pub(crate) mod private_fork;

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::memory::snapshot;

/// The ways there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Snapshot,
    Fork,
    Loop,
}

const VARIABLE: &str = "RADDLE_RESTART";
static KIND: AtomicU8 = AtomicU8::new(Kind::Snapshot as u8);

fn kind() -> Kind {
    [Kind::Snapshot, Kind::Fork, Kind::Loop][usize::from(KIND.load(Relaxed))]
}

/// Whether executions have processes of their own.
pub(crate) fn is_fork() -> bool {
    kind() == Kind::Fork
}

/// Whether memory is all that is put back.
pub(crate) fn is_snapshot() -> bool {
    kind() == Kind::Snapshot
}

/// Whether somebody has said which.
fn is_chosen() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Does what the environment says.
pub(crate) fn choose() {
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let kind = match wanted.trim() {
        "" | "snapshot" => Kind::Snapshot,
        "fork" => Kind::Fork,
        "loop" => Kind::Loop,
        other => {
            eprintln!("raddle: {VARIABLE}: `{other}` is none of `snapshot`, `fork` and `loop`");
            // SAFETY: nothing has been done yet that needs to be brought to an end.
            unsafe { libc::_exit(2) }
        }
    };
    KIND.store(kind as u8, Relaxed);
}

/// Runs a whole check; `stack` is from where on the caller's stack belongs to the program.
pub(crate) fn run<R>(stack: usize, check: impl FnOnce() -> R) -> R {
    match kind() {
        Kind::Snapshot => {
            snapshot::begin(stack);
            irreversible::watch();
            let result = check();
            snapshot::end();
            result
        }
        Kind::Fork => {
            heap_mark::set();
            let result = fork::run(check);
            heap_mark::reset();
            result
        }
        Kind::Loop => {
            heap_mark::set();
            check()
        }
    }
}

/// An execution begins, in its first thread.
pub(crate) fn begin_execution() {
    match kind() {
        Kind::Snapshot => snapshot::restore(),
        Kind::Fork => {
            heap_mark::reset();
            fork::split();
        }
        Kind::Loop => heap_mark::reset_if_unused(),
    }
}

/// An execution is over, and nothing more of the program runs in it.
pub(crate) fn end_execution() {
    if is_fork() {
        fork::join();
    }
}
