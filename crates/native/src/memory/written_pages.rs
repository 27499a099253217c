//! Written pages of the program's memory, as reported by the kernel.
//!
//! Linux can write-protect pages and remove the protection itself at the first write, by a program
//! or by a system call (`userfaultfd`, asynchronous mode). It reports the pages without protection
//! (`PAGEMAP_SCAN`, since 6.7). Pages stay written until they are protected again, so each costs few faults in a
//! check. Where the kernel does not support or permit that, written pages are not known.

use std::cell::Cell;
use std::ffi::{c_int, c_ulong, c_void};
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::host::arena;

const PAGE: usize = 4096;
/// Lowest number of raddle's own descriptors, beyond those of most programs.
const HIGH: c_int = 500;

const API: c_ulong = 0xc018_aa3f;
const REGISTER: c_ulong = 0xc020_aa00;
const PROTECT: c_ulong = 0xc018_aa06;
const SCAN: c_ulong = 0xc060_6610;

const USER_MODE_ONLY: c_int = 1;
const VERSION: u64 = 0xaa;
/// Features: write protection, also of pages that were never used, without notifications.
const FEATURES: u64 = 1 | 1 << 13 | 1 << 15;
const PROTECTING: u64 = 2;
const PROTECTED: u64 = 1;

const IS_WRITTEN: u64 = 1 << 1;
const IS_PRESENT: u64 = 1 << 3;

/// Argument of `PAGEMAP_SCAN`.
#[repr(C)]
#[derive(Default)]
struct Question {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    answered_to: u64,
    found: u64,
    room: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    told: u64,
}

/// Contiguous pages, and their categories.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Found {
    start: u64,
    end: u64,
    what: u64,
}

/// Protected pages, in the process that has protected them.
pub(crate) struct Written {
    /// Descriptor whose end is that of the protection.
    fault: OwnedFd,
    pages: OwnedFd,
    /// Nonzero in that process; 0 in forked ones, whose pages are copies.
    is_here: *mut u8,
    /// Number of page faults at the last call of [`Written::has_more`].
    faults: Cell<i64>,
}

impl Written {
    /// Protects whole pages that were read before.
    pub(crate) fn watch(ranges: impl Iterator<Item = Range<usize>>) -> Option<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: `userfaultfd` takes no pointers; it only makes a descriptor.
        let fault = own(unsafe { libc::syscall(libc::SYS_userfaultfd, flags) } as c_int)?;
        ask(&fault, API, &mut [VERSION, FEATURES, 0])?;
        for range in ranges.filter(|range| !range.is_empty()) {
            let (start, size) = (range.start as u64, range.len() as u64);
            ask(&fault, REGISTER, &mut [start, size, PROTECTING, 0])?;
            ask(&fault, PROTECT, &mut [start, size, PROTECTED])?;
        }
        // SAFETY: `open` needs a C string.
        let pages = unsafe { libc::open(c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY) };
        let pages = own(pages)?;
        let is_here = arena::map(PAGE);
        // SAFETY: the page was just mapped, and nothing else refers to it.
        unsafe {
            if is_here.is_null() || libc::madvise(is_here.cast(), PAGE, libc::MADV_WIPEONFORK) != 0
            {
                return None;
            }
            is_here.write(1);
        }
        Some(Written {
            fault,
            pages,
            is_here,
            faults: Cell::new(-1),
        })
    }

    /// True if other pages may have been written since the last call. The first write of a page is
    /// a fault, and counting faults is faster than scanning pages.
    pub(crate) fn has_more(&self) -> bool {
        // SAFETY: `rusage` is a struct of numbers, in which all-zero is valid, and the kernel writes one.
        let faults = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage.ru_minflt + usage.ru_majflt
        };
        self.faults.replace(faults) != faults
    }

    /// Protects pages again, which are as they were when they were protected first. Returns false if that is not
    /// possible.
    pub(crate) fn protect_again(&self, pages: &Range<usize>) -> bool {
        // The next scan finds those that were written since.
        self.faults.set(-1);
        let (start, size) = (pages.start as u64, pages.len() as u64);
        ask(&self.fault, PROTECT, &mut [start, size, PROTECTED]).is_some()
    }

    /// True in the process that has protected the pages.
    pub(crate) fn is_here(&self) -> bool {
        // SAFETY: `self` owns the page, which is mapped as long as it lives.
        unsafe { self.is_here.read_volatile() != 0 }
    }

    /// Calls `each` for all parts of a protected range that may have changed. Returns false if they are not
    /// known.
    pub(crate) fn each(&self, range: &Range<usize>, mut each: impl FnMut(Range<usize>)) -> bool {
        const ROOM: usize = 32;
        let mut found = [Found::default(); ROOM];
        let mut start = range.start;
        while start < range.end {
            let mut question = Question {
                size: size_of::<Question>() as u64,
                start: start as u64,
                end: range.end as u64,
                found: found.as_mut_ptr() as u64,
                room: ROOM as u64,
                // Pages that the program has released have changed, too.
                inverted: IS_PRESENT,
                any_of: IS_WRITTEN | IS_PRESENT,
                told: IS_WRITTEN,
                ..Question::default()
            };
            // SAFETY: the request needs a `Question` whose list of parts has the number of elements
            // that it states.
            let count = unsafe { ioctl(&self.pages, SCAN, (&raw mut question).cast()) };
            let answered_to = question.answered_to as usize;
            if count < 0 || answered_to <= start {
                return false;
            }
            for part in &found[..count as usize] {
                each(part.start as usize..part.end as usize);
            }
            start = answered_to;
        }
        true
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let page = self.is_here as usize;
        arena::unmap(page..page + PAGE);
    }
}

/// Moves a descriptor, if it is one, beyond those of the program.
fn own(descriptor: c_int) -> Option<OwnedFd> {
    if descriptor < 0 {
        return None;
    }
    // SAFETY: an `OwnedFd` needs a descriptor that nothing else closes: both were just made.
    unsafe {
        let low = OwnedFd::from_raw_fd(descriptor);
        let high = libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH);
        (high >= 0).then(|| OwnedFd::from_raw_fd(high))
    }
}

fn ask<const WORDS: usize>(
    descriptor: &OwnedFd,
    what: c_ulong,
    words: &mut [u64; WORDS],
) -> Option<()> {
    // SAFETY: callers pass as many words as the kernel reads and writes for this request.
    (unsafe { ioctl(descriptor, what, words.as_mut_ptr().cast()) } >= 0).then_some(())
}

/// # Safety
///
/// The argument must be of the type that the request needs.
unsafe fn ioctl(descriptor: &OwnedFd, what: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the argument is of the type that the request needs, as the caller promises.
    unsafe { libc::ioctl(descriptor.as_raw_fd(), what, argument) }
}
