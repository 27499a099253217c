//! Beginning of an execution.

use super::per_execution;
use crate::engine::Native;
use crate::execution::{self, shadow_stack};
use crate::host::{dispatch, mode, substrate, tls};
use crate::process::{faults, restart};
use crate::threads::{beginning, signals};

/// Begins an execution, in its first thread: restores the program's state at the beginning of the
/// check, and clears the state of all addresses.
pub(super) fn begin() {
    let native = Native::current().expect("raddle: an execution outside a check");
    execution::begin(native);
    substrate::end_execution();
    // Handlers for all executions are installed before this step, which may continue in another
    // process.
    faults::install();
    signals::install();
    beginning::begin_execution();
    restart::begin_execution();
    tls::claim_threads();
    dispatch::arm();
    shadow_stack::begin();
    per_execution::begin();
    mode::next_epoch();
}
