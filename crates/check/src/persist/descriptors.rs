//! Descriptors of raddle's own, beyond the numbers that programs see.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// First number of them. Descriptors of a native program get the numbers that they have without raddle, and the same in all
/// processes that share a search.
const FIRST: libc::c_int = 640;

/// Moves a descriptor out of the way, unless the process may not have one of such a number.
pub(crate) fn out_of_the_way(descriptor: OwnedFd) -> OwnedFd {
    // SAFETY: this command of `fcntl` takes a number, and makes a new descriptor or fails.
    let moved = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) };
    match moved {
        ..0 => descriptor,
        // SAFETY: the descriptor was just made, so that nothing else owns it.
        moved => unsafe { OwnedFd::from_raw_fd(moved) },
    }
}
