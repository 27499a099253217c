//! Descriptors that were open when the check began: standard input and output, and what else the program
//! was given. An execution may close them, put others in their place or read on in them; the next one finds
//! them as they were.
//!
//! Pipes and sockets of which the program has both ends are left alone: one more descriptor of an end would
//! keep it open when the program has closed its own, and who reads would wait for ever.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{opened, status};
use crate::abi::real::real;

/// Beyond what programs usually have open, so that theirs get the numbers that they would get without us.
const FIRST_SPARE: c_int = 600;

struct Inherited {
    descriptor: c_int,
    /// Another one of the same.
    spare: c_int,
    /// How far it was read, if it is a file that is only read.
    position: Option<i64>,
}

static INHERITED: Mutex<Vec<Inherited>> = Mutex::new(Vec::new());
/// The program has closed one, or put something else in its place.
static IS_DISTURBED: AtomicBool = AtomicBool::new(false);

fn list() -> MutexGuard<'static, Vec<Inherited>> {
    INHERITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A check begins.
pub(crate) fn remember() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<c_int> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut list = list();
    list.extend(numbers.into_iter().filter_map(inherited));
    IS_DISTURBED.store(false, Relaxed);
}

fn inherited(descriptor: c_int) -> Option<Inherited> {
    let status = status(descriptor).filter(|status| !opened::is_own(status))?;
    let is_file = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    // SAFETY: asks the system about a number.
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

/// The program is about to close this, or has put something else there.
pub(super) fn disturb(descriptor: c_int) {
    if !IS_DISTURBED.load(Relaxed) && list().iter().any(|it| it.descriptor == descriptor) {
        IS_DISTURBED.store(true, Relaxed);
    }
}

/// An execution begins, and what the last one has opened is closed.
pub(super) fn begin() {
    let is_disturbed = IS_DISTURBED.swap(false, Relaxed);
    for it in list().iter() {
        // SAFETY: the numbers are the program's, which does not run now, and ours.
        unsafe {
            if is_disturbed {
                real!(fn dup2(c_int, c_int) -> c_int)(it.spare, it.descriptor);
            }
            if let Some(position) = it.position {
                libc::lseek64(it.descriptor, position, libc::SEEK_SET);
            }
        }
    }
}

/// A check is over.
pub(crate) fn forget() {
    begin();
    for it in list().drain(..) {
        // SAFETY: nobody else has this number.
        unsafe { real!(fn close(c_int) -> c_int)(it.spare) };
    }
}
