//! How an execution begins.

use crate::engine::Native;
use crate::execution::{self, pending_stores, shadow_stack};
use crate::host::{dispatch, mode, substrate, tls};
use crate::io::opened;
use crate::memory::{locations, objects, shadow, thread_heaps};
use crate::openmp;
use crate::process::{children, faults, random, restart, rust_panics};
use crate::pthread::{cancel, mutex};
use crate::rust::{self, arc_counts, channels, std_atomics, sync};
use crate::threads::{guests, life, queues, requests, signals, unwind};

/// At the beginning of an execution, in its first thread: everything is as it was when the check
/// began, and nothing is known of any address.
pub(crate) fn begin() {
    let native = Native::current().expect("raddle: an execution outside a check");
    execution::begin(native);
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
    locations::begin(stamp);
    std_atomics::begin(stamp);
    arc_counts::begin(stamp);
    channels::begin();
    rust::threads::begin();
    sync::begin();
    shadow::begin();
    pending_stores::begin();
    shadow_stack::begin();
    queues::begin();
    requests::begin();
    signals::begin();
    random::begin();
    opened::begin();
    children::begin();
    mutex::begin();
    rust_panics::begin();
    unwind::begin();
    life::begin();
    guests::begin();
    cancel::begin();
    openmp::begin();
    mode::next_epoch();
}
