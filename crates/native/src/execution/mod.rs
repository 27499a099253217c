//! The running execution.

pub(crate) mod shadow_stack;

use crate::engine::Native;
use crate::entry::atomic;
use crate::host::solo::Solo;
use crate::host::{dispatch, mode, substrate, tls};
use crate::memory::{objects, plain_choices, shadow, thread_heaps};
use crate::openmp;
use crate::process::{faults, restart};
use crate::pthread::cancel;
use crate::rust::{self, arc_counts, channels, std_atomics, sync};
use crate::threads::{self, signals};

static RUNNING: Solo<Option<Native<'static>>> = Solo::new(None);

/// The running execution, for what its guests do.
#[inline]
pub(crate) fn running() -> Native<'static> {
    let native = RUNNING.get().expect("raddle: a guest outside a check");
    // Whatever is asked for next comes after what the program has stored by itself.
    if plain_choices::is_unsettled() {
        plain_choices::settle(native);
    }
    native
}

/// The same for those who tell stories, also while a guest hangs in the middle of something.
pub(crate) fn if_running() -> Option<Native<'static>> {
    *RUNNING.try_get()?
}

/// At the beginning of an execution, in its first thread: everything is as it was when the check
/// began, and nothing is known of any address.
pub(crate) fn begin() {
    let native = Native::current().expect("raddle: an execution outside a check");
    *RUNNING.get() = Some(native);
    substrate::end_execution();
    // What the kernel is to know of all executions comes before this, which may be in another process.
    faults::install();
    signals::install();
    restart::begin_execution();
    thread_heaps::forget_threads();
    tls::claim_threads();
    dispatch::arm();
    let stamp = native.stamp();
    objects::begin(stamp);
    atomic::begin(stamp);
    std_atomics::begin(stamp);
    arc_counts::begin(stamp);
    channels::begin();
    rust::threads::begin();
    sync::begin();
    shadow::begin();
    plain_choices::begin();
    shadow_stack::begin();
    threads::begin();
    cancel::begin();
    openmp::begin();
    mode::next_epoch();
}
