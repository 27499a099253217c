//! Loops around `wait_timeout` in unmodified Rust programs are loops that wait, unless a round changes anything.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::support::{EXHAUSTIVE, Finished, preloaded, run, rust};

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| rust("retrying.rs", "retrying", &[]));

fn check(name: &str) -> Finished {
    let few = ("RADDLE_MAX_EXECUTIONS", "20000");
    run(&PROGRAM, &[name], &[preloaded(), EXHAUSTIVE, few])
}

#[test]
fn a_wait_with_a_time_limit_that_is_tried_again_is_exhausted() {
    for name in ["waits", "two_wait"] {
        check(name).exits(0).says("every behaviour was run: ");
    }
    check("waits_for_ever").exits(1).says("livelock");
}

#[test]
fn rounds_that_differ_are_run() {
    check("counts").exits(1).says("three rounds");
    check("is_told").exits(1).says("notified");
    check("gives_up").exits(1).says("too late");
}

#[test]
fn a_lost_wake_up_beside_a_thread_that_polls_is_found() {
    check("loses_a_wake_up")
        .exits(1)
        .says("for Condvar#1, which no thread will notify");
}
