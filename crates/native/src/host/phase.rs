//! Phase of the process: true while a check runs, and the progress of a test's harness.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use super::mode;
use crate::abi::guest;

static IS_CHECKING: AtomicBool = AtomicBool::new(false);
static HARNESS: AtomicU8 = AtomicU8::new(Harness::None as u8);

/// Phases of the `main` of a test's harness.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harness {
    /// No test is checked.
    None,
    /// The harness has not started the test.
    Before,
    /// The harness is stopped, and executions run.
    Stopped,
    /// The harness receives the result of an execution.
    After,
}

/// True while a check runs.
pub(crate) fn is_checking() -> bool {
    IS_CHECKING.load(Relaxed)
}

/// Records that a check begins or ends.
pub(crate) fn set_checking(is_checking: bool) {
    IS_CHECKING.store(is_checking, Relaxed);
}

/// Returns the phase of the harness.
pub(crate) fn harness() -> Harness {
    [
        Harness::None,
        Harness::Before,
        Harness::Stopped,
        Harness::After,
    ][usize::from(HARNESS.load(Relaxed))]
}

/// Sets the phase of the harness.
pub(crate) fn set_harness(harness: Harness) {
    HARNESS.store(harness as u8, Relaxed);
}

/// True if a test of a Rust crate is checked.
pub(crate) fn is_test() -> bool {
    harness() != Harness::None
}

/// True if the caller is the `main` of a harness that receives the result of an execution. Its
/// memory is the program's then.
#[inline]
pub(crate) fn is_harness_main() -> bool {
    HARNESS.load(Relaxed) == Harness::After as u8 && guest::thread_pointer() == mode::host_pointer()
}
