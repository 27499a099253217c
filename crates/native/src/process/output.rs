//! What the program prints, which it would print in every execution.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use crate::abi::real::real;
use crate::host::solo::Solo;

/// Standard output as it was, if it is needed.
static BEFORE: AtomicI32 = AtomicI32::new(-1);
/// Whether only panics are left out of what guests print to standard error.
static IS_SHOWN: AtomicBool = AtomicBool::new(true);

/// For descriptors that are in nobody's way.
const HIGH: c_int = 500;

/// From now on nobody sees what the program prints, unless there is a single execution, which is worth looking
/// at. What the `main` of a harness prints is kept for [`said`].
pub(crate) fn hide() {
    let is_shown = std::env::var_os("RADDLE_REPLAY").is_some();
    IS_SHOWN.store(is_shown, Relaxed);
    if is_shown {
        // SAFETY: makes a descriptor.
        let before = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, HIGH) };
        BEFORE.store(before, Relaxed);
    }
    discard();
}

/// From now on nobody sees what is written to standard output.
pub(crate) fn discard() {
    // SAFETY: the descriptor that is closed is ours.
    unsafe {
        let file = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if file >= 0 {
            libc::dup2(file, libc::STDOUT_FILENO);
            libc::close(file);
        }
    }
}

/// A test prints to standard output, which is shown if there is a single execution.
pub(crate) fn print(bytes: &[u8]) {
    let before = BEFORE.load(Relaxed);
    if before >= 0 {
        // SAFETY: the bytes are there.
        unsafe {
            let write = real!(fn write(c_int, *const c_void, usize) -> isize);
            write(before, bytes.as_ptr().cast(), bytes.len());
        }
    }
}

/// True if what guests print to standard error is shown, but for panics.
pub(crate) fn is_shown() -> bool {
    IS_SHOWN.load(Relaxed)
}

/// What the `main` of a harness has said of an execution.
static SAID: Solo<Vec<u8>> = Solo::new(Vec::new());

/// The `main` of a harness is about to say what came of an execution.
pub(crate) fn listen() {
    SAID.get().clear();
}

/// It says something.
pub(crate) fn hear(bytes: &[u8]) {
    SAID.get().extend(bytes);
}

/// Whether it has said that all is well. What it does after that is to clean up.
pub(crate) fn is_well() -> bool {
    SAID.get().ends_with(b"\ntest result: ok")
}

/// What it has said.
pub(crate) fn said() -> String {
    String::from_utf8_lossy(&SAID.get()).into_owned()
}
