//! Mapped memory. raddle's own is shared with child processes, where executions have processes of
//! their own. A snapshot would not restore the program's mappings. So requests for empty memory,
//! such as the signal stacks of Rust's threads, get a piece of the heap; any other mapping is
//! reported.

use std::ffi::{c_int, c_void};

use crate::abi::real::real;
use crate::host::{mode, shared_memory, system};
use crate::memory::{heap, heap_range};
use crate::process::restart::{self, irreversible};

const PAGE: usize = 4096;

fn result(result: isize) -> isize {
    match result {
        -4095..0 => {
            mode::set_errno(-result as c_int);
            -1
        }
        result => result,
    }
}

/// Reads part of a file, which is equivalent to a mapping that is not written.
fn read(file: c_int, offset: i64, to: usize, size: usize) {
    let mut done = 0;
    while done < size {
        let from = offset as usize + done;
        let arguments = [file as usize, to + done, size - done, from, 0, 0];
        // SAFETY: the kernel writes at most as many bytes as the new mapping has left.
        match unsafe { system::call(libc::SYS_pread64, arguments) } {
            count @ 1.. => done += count as usize,
            _ => return,
        }
    }
}

/// Maximum bytes of a mapping on the heap.
const LARGEST: usize = 64 << 20;

/// In guest mode: returns private empty memory from the heap, if the program requests such.
fn map_on_heap(start: usize, size: usize, protection: c_int, flags: c_int) -> Option<usize> {
    let is_plain = flags & libc::MAP_ANONYMOUS != 0 && flags & libc::MAP_SHARED == 0;
    let is_fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if !is_plain || size == 0 || size > LARGEST || protection & libc::PROT_EXEC != 0 {
        return None;
    }
    if is_fixed {
        if !heap_range::contains(start) {
            return None;
        }
        // SAFETY: `erase` needs memory that is not in use: the program maps other memory there,
        // which ends the use of the old one.
        unsafe { heap::erase(start, size) };
        return Some(start);
    }
    // An address in the C library, so that the site is that of its caller.
    let code = real!(fn mprotect(*mut c_void, usize, c_int) -> c_int) as *const () as usize;
    let memory = heap::map(size, code);
    (memory != 0).then_some(memory)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
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
    // A mapping that is only read need not be shared with writers.
    let is_alone = match is_file {
        true => protection & libc::PROT_WRITE == 0,
        false => flags & libc::MAP_SHARED == 0,
    };
    if !is_guest && start.is_null() && is_alone && shared_memory::is_used() {
        let start = shared_memory::map(size);
        if is_file {
            read(file, offset, start, size);
        }
        shared_memory::protect(start..start + size.next_multiple_of(PAGE), protection);
        return start as *mut c_void;
    }
    if is_guest
        && restart::is_snapshot()
        && let Some(memory) = map_on_heap(start as usize, size, protection, flags)
    {
        return memory as *mut c_void;
    }
    if is_guest && flags & libc::MAP_SHARED == 0 {
        mode::host(|| irreversible::notice("maps memory by itself"));
    }
    let arguments = [
        start as usize,
        size,
        protection as usize,
        flags as usize,
        file as usize,
        offset as usize,
    ];
    // SAFETY: the program has called this function with these arguments, so the system call's
    // requirements on them are its obligation.
    result(unsafe { system::call(libc::SYS_mmap, arguments) }) as *mut c_void
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mmap64(
    start: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the program has called this function with these arguments, so the system call's
    // requirements on them are its obligation.
    unsafe { mmap(start, size, protection, flags, file, offset) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn munmap(start: *mut c_void, size: usize) -> c_int {
    let start = start as usize;
    if shared_memory::contains(start) {
        shared_memory::unmap(start..start + size);
        return 0;
    }
    if heap_range::contains(start) {
        // The memory ends with the execution.
        return 0;
    }
    // SAFETY: the program has called this function with these arguments, so the system call's
    // requirements on them are its obligation.
    result(unsafe { system::call(libc::SYS_munmap, [start, size, 0, 0, 0, 0]) }) as c_int
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mprotect(start: *mut c_void, size: usize, protection: c_int) -> c_int {
    let start = start as usize;
    if shared_memory::contains(start) {
        return result(shared_memory::protect(start..start + size, protection)) as c_int;
    }
    let protection = match heap_range::contains(start) {
        // The next execution uses the heap again, so permitted accesses stay permitted.
        true => protection | libc::PROT_READ | libc::PROT_WRITE,
        false => protection,
    };
    if heap_range::contains(start) && protection & libc::PROT_EXEC == 0 {
        return 0;
    }
    let arguments = [start, size, protection as usize, 0, 0, 0];
    // SAFETY: the program has called this function with these arguments, so the system call's
    // requirements on them are its obligation.
    result(unsafe { system::call(libc::SYS_mprotect, arguments) }) as c_int
}
