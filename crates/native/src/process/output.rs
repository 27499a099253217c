//! Output of the program, which it would print in every execution.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use crate::abi::real::real;
use crate::execution::part::{Part, PartCell};

/// Descriptor of the original standard output; negative if it is not kept.
static BEFORE: AtomicI32 = AtomicI32::new(-1);
/// Standard error as it was, for raddle's own messages, if the program's is discarded.
static MESSAGES: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);
/// True if all of the guests' standard error is shown, except for panics.
static IS_SHOWN: AtomicBool = AtomicBool::new(true);

/// Lowest number of raddle's own descriptors, beyond those of most programs.
const HIGH: c_int = 500;

/// Hides the program's output from now on, unless there is a single execution. The output of the `main` of a
/// harness is kept for [`harness_output`].
pub(crate) fn hide() {
    let is_shown = std::env::var_os("RADDLE_REPLAY").is_some();
    IS_SHOWN.store(is_shown, Relaxed);
    if is_shown {
        // SAFETY: `fcntl` with these arguments takes no pointers; it only makes a descriptor.
        let before = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, HIGH) };
        BEFORE.store(before, Relaxed);
    }
    discard();
}

/// Discards standard output from now on.
pub(crate) fn discard() {
    replace(libc::STDOUT_FILENO);
}

/// Discards the program's standard error from now on, unless there is a single execution. The C library writes it
/// without calls that could be seen, so the descriptor itself is replaced; raddle's messages go to a copy.
pub(crate) fn discard_errors() {
    if std::env::var_os("RADDLE_REPLAY").is_some() {
        return;
    }
    // SAFETY: `fcntl` with these arguments only makes a descriptor.
    let copy = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, HIGH) };
    if copy >= 0 {
        MESSAGES.store(copy, Relaxed);
        replace(libc::STDERR_FILENO);
    }
}

/// Makes standard error what it was, for a program that takes the place of this one.
pub(crate) fn restore_errors() {
    let copy = MESSAGES.swap(libc::STDERR_FILENO, Relaxed);
    if copy != libc::STDERR_FILENO {
        // SAFETY: the descriptor that is closed was opened here, and nothing refers to it any more.
        unsafe {
            libc::dup2(copy, libc::STDERR_FILENO);
            libc::close(copy);
        }
    }
}

/// Returns the descriptor of raddle's own messages that are written to this one.
pub(crate) fn of_messages(descriptor: c_int) -> c_int {
    match descriptor {
        libc::STDERR_FILENO => MESSAGES.load(Relaxed),
        other => other,
    }
}

/// True if raddle's own messages go to a terminal.
pub(crate) fn is_on_terminal() -> bool {
    // SAFETY: `isatty` has no precondition.
    unsafe { libc::isatty(MESSAGES.load(Relaxed)) == 1 }
}

/// Makes the descriptor one whose output is discarded.
fn replace(descriptor: c_int) {
    // SAFETY: the path is a C string, and the descriptor that is closed was opened here.
    unsafe {
        let file = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if file >= 0 {
            libc::dup2(file, descriptor);
            libc::close(file);
        }
    }
}

/// Prints output of a test, if it is shown: in a check with a single execution.
pub(crate) fn print(bytes: &[u8]) {
    let before = BEFORE.load(Relaxed);
    if before >= 0 {
        // SAFETY: `write` reads as many bytes as the slice has.
        unsafe {
            let write = real!(fn write(c_int, *const c_void, usize) -> isize);
            write(before, bytes.as_ptr().cast(), bytes.len());
        }
    }
}

/// True if the guests' standard error is shown, except for panics.
pub(crate) fn is_shown() -> bool {
    IS_SHOWN.load(Relaxed)
}

/// Output of the `main` of a harness after an execution.
#[derive(Default)]
pub(crate) struct HarnessOutput(Vec<u8>);

impl Part for HarnessOutput {
    fn renew(&mut self) {
        let HarnessOutput(output) = self;
        output.clear();
    }
}

pub(crate) static HARNESS_OUTPUT: PartCell<HarnessOutput> = PartCell::new();

/// What libtest prints for a test that has passed, after its name.
const PASSED: &[u8] = b"ok\n\ntest result: ok";
/// True if the harness has printed just that before. Then the first word is enough.
static IS_LIBTEST: AtomicBool = AtomicBool::new(false);

/// Adds to the output of the `main` of a harness.
pub(crate) fn add_harness_output(bytes: &[u8]) {
    HARNESS_OUTPUT.get().0.extend_from_slice(bytes);
}

/// True if the output states that the test passed. All later steps are cleanup.
pub(crate) fn has_passed() -> bool {
    let output = &HARNESS_OUTPUT.get().0[..];
    if output == PASSED {
        IS_LIBTEST.store(true, Relaxed);
    }
    let is_short = output == &PASSED[..2] && IS_LIBTEST.load(Relaxed);
    is_short || output.ends_with(b"\ntest result: ok")
}

/// Returns the output of the `main` of a harness.
pub(crate) fn harness_output() -> String {
    String::from_utf8_lossy(&HARNESS_OUTPUT.get().0).into_owned()
}
