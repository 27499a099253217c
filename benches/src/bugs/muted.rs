//! Discards stderr for a while. shuttle reports every failure there, and here failures are counted
//! by the thousand.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Discards output to stderr while it exists.
pub(crate) struct Muted {
    stderr: OwnedFd,
}

impl Muted {
    pub(crate) fn new() -> Self {
        let nowhere = OpenOptions::new().write(true).open("/dev/null");
        let nowhere = nowhere.expect("/dev/null can be opened");
        // SAFETY: `dup` takes any number and reports an error if it is not an open file.
        let stderr = unsafe { libc::dup(libc::STDERR_FILENO) };
        assert!(stderr >= 0, "stderr cannot be duplicated");
        redirect(&nowhere);
        // SAFETY: the call above opened it, and only this value owns it.
        let stderr = unsafe { OwnedFd::from_raw_fd(stderr) };
        Muted { stderr }
    }
}

impl Drop for Muted {
    fn drop(&mut self) {
        redirect(&self.stderr);
    }
}

/// Makes this file stderr.
fn redirect(file: &impl AsRawFd) {
    // SAFETY: both are open files; the former stderr is closed and has no other user.
    let result = unsafe { libc::dup2(file.as_raw_fd(), libc::STDERR_FILENO) };
    assert!(result >= 0, "stderr cannot be redirected");
}
