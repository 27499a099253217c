//! Tests of a Rust crate: with `RADDLE_NATIVE=test` in the environment, the subject of the check is
//! the first thread that `main` starts.
//!
//! The harness of Rust's tests runs each test in a thread of its own; `main` waits for that thread
//! and prints the result. So `main` is not part of the exploration. It runs on a stack of its own,
//! uncontrolled, and is stopped where it starts the thread: every execution begins there. The first
//! thread of an execution is the test's. After its end, `main` continues and exits with a status
//! that is nonzero if the test failed, also for tests that should panic or that return an error.
//! Its line "test result: ok" counts as exit status 0, and so does "ok" for the test if that line came next, and
//! nothing else, in an execution before. Where possible executions [begin and end](beginning) with the test's function.

use super::program::NativeProgram;
use crate::host::phase::{self, Harness};
use crate::process::harness::{self, Stop};
use crate::process::{output, program, rust_panics};
use crate::threads::guests::{self, ThreadEnd};
use crate::threads::{beginning, life};

/// Checks the test that the arguments name, and ends the process.
pub(super) fn check() -> ! {
    let name = std::env::args().nth(1).unwrap_or_default();
    output::hide();
    phase::set_harness(Harness::Before);
    harness::prepare();
    let stop = without_terminal(harness::go_on);
    let status = match stop {
        Stop::End(status) => status,
        Stop::Test => {
            phase::set_harness(Harness::Stopped);
            let report = super::run(&NativeProgram::Test, &name, harness::stack(), run_test);
            super::print_report(&name, &report)
        }
    };
    // SAFETY: `_exit` has no precondition.
    unsafe { libc::_exit(status) }
}

/// Runs `main` without information about the terminal. Otherwise it would read a large database,
/// which every execution would have to restore and `main` to drop.
fn without_terminal<R>(run: impl FnOnce() -> R) -> R {
    const NAME: &str = "TERM";
    let terminal = std::env::var_os(NAME);
    // SAFETY: the environment must not be used by another thread meanwhile: there is none yet, and `main` is
    // stopped before its first one runs.
    unsafe { std::env::remove_var(NAME) };
    let result = run();
    if let Some(terminal) = terminal {
        // SAFETY: as before: there are no other threads.
        unsafe { std::env::set_var(NAME, terminal) };
    }
    result
}

/// Runs the first thread of an execution, in host mode.
fn run_test() {
    let (function, argument) = harness::test();
    life::live_as_first(function, argument);
    if !guests::with_running(|guest| matches!(guest.end, ThreadEnd::Returned(_))) {
        return;
    }
    if !beginning::has_passed() {
        phase::set_harness(Harness::After);
        let stop = harness::go_on();
        phase::set_harness(Harness::Stopped);
        if let Stop::End(status) = stop {
            rust_panics::judge(status);
            if status == 0 && output::has_passed() {
                beginning::pass();
            }
        }
    }
    program::end();
}
