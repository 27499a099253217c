//! Actions of the program that a snapshot does not undo.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::host::phase;
use crate::process::program;

/// True if such an action was reported, or need not be.
static IS_REPORTED: AtomicBool = AtomicBool::new(true);

/// Enables one report in the check that begins.
pub(super) fn watch() {
    IS_REPORTED.store(false, Relaxed);
}

/// Reports an action of the program that a snapshot does not undo.
pub(crate) fn notice(what: &str) {
    if phase::is_checking() && !IS_REPORTED.swap(true, Relaxed) {
        if !super::is_chosen() && program::is_checked() {
            eprintln!(
                "raddle: the program {what}, so every execution is run in a process of its own, which takes \
                 longer; with RADDLE_RESTART=snapshot it is not"
            );
            program::exec_again("RADDLE_RESTART", "fork");
        }
        eprintln!(
            "raddle: the program {what}, which is not undone when an execution begins anew; \
             RADDLE_RESTART=fork undoes it"
        );
    }
}
