//! Memory that is mapped: raddle's own is shared with children where there are any, and what the program
//! maps by itself is noticed, because a snapshot does not put it back.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::shared;
use crate::{check, mode, program, system};

const PAGE: usize = 4096;

/// Whether the program has been told of.
static IS_TOLD: AtomicBool = AtomicBool::new(true);

/// Says so once if the program maps memory in the check that begins.
pub(super) fn watch() {
    IS_TOLD.store(false, Relaxed);
}

/// The program has done something that a snapshot does not undo.
pub(crate) fn notice(what: &str) {
    if check::is_running() && !IS_TOLD.swap(true, Relaxed) {
        if !super::is_chosen() && program::is_checked() {
            eprintln!(
                "raddle: the program {what}, so every execution is run in a process of its own, which takes \
                 longer; with RADDLE_RESTART=snapshot it is not"
            );
            program::begin_anew_with_forks();
        }
        eprintln!(
            "raddle: the program {what}, which is not undone when an execution begins anew; \
             RADDLE_RESTART=fork undoes it"
        );
    }
}

fn result(result: isize) -> isize {
    match result {
        -4095..0 => {
            mode::set_errno(-result as c_int);
            -1
        }
        result => result,
    }
}

/// Reads so much of a file, which is as good as mapping it where nobody writes.
fn read(file: c_int, offset: i64, to: usize, size: usize) {
    let mut done = 0;
    while done < size {
        let from = offset as usize + done;
        let arguments = [file as usize, to + done, size - done, from, 0, 0];
        // SAFETY: there is room for that much.
        match unsafe { system::call(libc::SYS_pread64, arguments) } {
            count @ 1.. => done += count as usize,
            _ => return,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    start: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let is_guest = mode::is_guest();
    let is_file = flags & libc::MAP_ANONYMOUS == 0;
    // What is only read need not be shared with who writes it.
    let is_alone = match is_file {
        true => protection & libc::PROT_WRITE == 0,
        false => flags & libc::MAP_SHARED == 0,
    };
    if !is_guest && start.is_null() && is_alone && shared::is_used() {
        let start = shared::map(size);
        if is_file {
            read(file, offset, start, size);
        }
        shared::protect(start..start + size.next_multiple_of(PAGE), protection);
        return start as *mut c_void;
    }
    if is_guest && flags & libc::MAP_SHARED == 0 {
        mode::host(|| notice("maps memory by itself"));
    }
    let arguments = [
        start as usize,
        size,
        protection as usize,
        flags as usize,
        file as usize,
        offset as usize,
    ];
    // SAFETY: what the caller wanted.
    result(unsafe { system::call(libc::SYS_mmap, arguments) }) as *mut c_void
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    start: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: what the caller wanted.
    unsafe { mmap(start, size, protection, flags, file, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, size: usize) -> c_int {
    let start = start as usize;
    if shared::contains(start) {
        shared::unmap(start..start + size);
        return 0;
    }
    // SAFETY: what the caller wanted.
    result(unsafe { system::call(libc::SYS_munmap, [start, size, 0, 0, 0, 0]) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(start: *mut c_void, size: usize, protection: c_int) -> c_int {
    let start = start as usize;
    if shared::contains(start) {
        return result(shared::protect(start..start + size, protection)) as c_int;
    }
    let arguments = [start, size, protection as usize, 0, 0, 0];
    // SAFETY: what the caller wanted.
    result(unsafe { system::call(libc::SYS_mprotect, arguments) }) as c_int
}
