//! Kinds of restart: every execution begins with the same state of the program.
//!
//! * [`Restart::Snapshot`]: the program's memory is copied when the check begins, and copied back. State
//!   of the kernel is not restored.
//! * [`Restart::Fork`]: every execution runs in a process of its own, so that all state of a process is
//!   restored: mappings, open files, handlers of signals.
//! * [`Restart::Loop`]: nothing is restored; for functions that clean up after themselves.

mod fork;
mod heap_mark;
pub(crate) mod irreversible;
pub(crate) mod private_fork;

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use raddle_settings::Restart;

use crate::memory::snapshot;

/// Index of the selected kind in [`KINDS`].
static SELECTED: AtomicU8 = AtomicU8::new(0);
const KINDS: [Option<Restart>; 4] = [
    None,
    Some(Restart::Snapshot),
    Some(Restart::Fork),
    Some(Restart::Loop),
];

fn selected() -> Option<Restart> {
    KINDS[usize::from(SELECTED.load(Relaxed))]
}

fn kind() -> Restart {
    selected().unwrap_or(Restart::Snapshot)
}

/// True if executions have processes of their own.
pub(crate) fn is_fork() -> bool {
    kind() == Restart::Fork
}

/// True if only memory is restored.
pub(crate) fn is_snapshot() -> bool {
    kind() == Restart::Snapshot
}

/// True if the environment selects the kind.
fn is_chosen() -> bool {
    selected().is_some()
}

/// Selects the kind; a snapshot if the environment selects none.
pub(crate) fn choose(wanted: Option<Restart>) {
    let index = KINDS.iter().position(|kind| *kind == wanted);
    SELECTED.store(index.expect("every kind is listed") as u8, Relaxed);
}

/// Runs a whole check; `stack` is the start of the program's part of the caller's stack.
pub(crate) fn run<R>(stack: usize, check: impl FnOnce() -> R) -> R {
    match kind() {
        Restart::Snapshot => {
            snapshot::begin(stack);
            irreversible::watch();
            let result = check();
            snapshot::end();
            result
        }
        Restart::Fork => {
            heap_mark::set();
            let result = fork::run(check);
            heap_mark::reset();
            result
        }
        Restart::Loop => {
            heap_mark::set();
            check()
        }
    }
}

/// Begins an execution, in its first thread.
pub(crate) fn begin_execution() {
    match kind() {
        Restart::Snapshot => snapshot::restore(),
        Restart::Fork => {
            heap_mark::reset();
            fork::split();
        }
        Restart::Loop => heap_mark::reset_if_unused(),
    }
}

/// Ends an execution, in which no code of the program runs any more.
pub(crate) fn end_execution() {
    if is_fork() {
        fork::join();
    }
}
