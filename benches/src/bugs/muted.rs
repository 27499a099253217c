//! Nothing is said on stderr for a while. shuttle tells of every failure there, and here they are
//! counted by the thousand.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// While it lives, what is written to stderr is thrown away.
pub(crate) struct Muted {
    stderr: OwnedFd,
}

impl Muted {
    pub(crate) fn new() -> Self {
        let nowhere = OpenOptions::new().write(true).open("/dev/null");
        let nowhere = nowhere.expect("/dev/null can be opened");
        // SAFETY: `dup` takes any number and says if it is not an open file.
        let stderr = unsafe { libc::dup(libc::STDERR_FILENO) };
        assert!(stderr >= 0, "stderr cannot be duplicated");
        redirect(&nowhere);
        // SAFETY: the call above opened it, and nobody else knows of it.
        let stderr = unsafe { OwnedFd::from_raw_fd(stderr) };
        Muted { stderr }
    }
}

impl Drop for Muted {
    fn drop(&mut self) {
        redirect(&self.stderr);
    }
}

/// From now on stderr is this file.
fn redirect(file: &impl AsRawFd) {
    // SAFETY: both are open files; the one that stderr was is closed and used by nobody else.
    let result = unsafe { libc::dup2(file.as_raw_fd(), libc::STDERR_FILENO) };
    assert!(result >= 0, "stderr cannot be redirected");
}
