//! How an execution begins.

use super::per_execution;
use crate::engine::Native;
use crate::execution::{self, shadow_stack};
use crate::host::{dispatch, mode, substrate, tls};
use crate::process::{faults, restart};
use crate::threads::signals;

/// At the beginning of an execution, in its first thread: everything is as it was when the check
/// began, and nothing is known of any address.
pub(super) fn begin() {
    let native = Native::current().expect("raddle: an execution outside a check");
    execution::begin(native);
    substrate::end_execution();
    // Handlers that all executions need are installed before this, which may continue in another process.
    faults::install();
    signals::install();
    restart::begin_execution();
    tls::claim_threads();
    dispatch::arm();
    shadow_stack::begin();
    per_execution::begin();
    mode::next_epoch();
}
