//! Descriptors that were open when the check began: standard input and output, and others that the
//! program inherited. An execution may close them, replace them or advance their positions; they
//! are restored for the next one.
//!
//! Pipes and sockets of which the program has both ends are left alone. A spare descriptor would
//! keep an end open when the program has closed its own, and a reader would wait for ever.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{opened, status};
use crate::abi::real::real;

/// First number of spare descriptors, beyond those that programs usually have open, so that theirs
/// get the same numbers as without raddle.
const FIRST_SPARE: c_int = 600;

struct Inherited {
    descriptor: c_int,
    /// Duplicate of the descriptor.
    spare: c_int,
    /// Position, if it is a file that is only read.
    position: Option<i64>,
}

static INHERITED: Mutex<Vec<Inherited>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<Inherited>> {
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records and duplicates the open descriptors, at the beginning of a check.
pub(crate) fn remember() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<c_int> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut list = list();
    list.extend(numbers.into_iter().filter_map(inherited));
}

fn inherited(descriptor: c_int) -> Option<Inherited> {
    let status = status(descriptor).filter(|status| !opened::is_own(status))?;
    let is_file = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    // SAFETY: these calls have no precondition: a number that is no descriptor is an error.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        let is_read = is_file && flags & libc::O_ACCMODE == libc::O_RDONLY;
        let spare = libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, FIRST_SPARE);
        let position = is_read.then(|| libc::lseek64(descriptor, 0, libc::SEEK_CUR));
        (spare >= 0).then_some(Inherited {
            descriptor,
            spare,
            position: position.filter(|&position| position >= 0),
        })
    }
}

/// True if the descriptor was inherited.
pub(super) fn contains(descriptor: c_int) -> bool {
    list().iter().any(|it| it.descriptor == descriptor)
}

/// Restores the positions after an execution, whose own descriptors are closed, and the descriptors
/// if any was disturbed.
pub(super) fn restore(is_any_disturbed: bool) {
    for it in list().iter() {
        // SAFETY: no other thread uses the descriptors meanwhile: the program does not run, and the spare
        // ones are raddle's.
        unsafe {
            if is_any_disturbed {
                real!(fn dup2(c_int, c_int) -> c_int)(it.spare, it.descriptor);
            }
            if let Some(position) = it.position {
                libc::lseek64(it.descriptor, position, libc::SEEK_SET);
            }
        }
    }
}

/// Closes the duplicates, at the end of a check.
pub(crate) fn forget() {
    for it in list().drain(..) {
        // SAFETY: the spare descriptor was made here, and is closed once.
        unsafe { real!(fn close(c_int) -> c_int)(it.spare) };
    }
}
