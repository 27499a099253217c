//! Which functions of the program each thread is in.
//!
//! Every function says when it is entered, and from where it was called. That is how an operation in a
//! library that was not compiled for this, such as C++'s own, gets a place in the program: the last call
//! out of code that was.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use crate::{snapshot, symbols};

/// Calls beyond that are not written down.
const DEEPEST: usize = 256;

struct Calls {
    depth: Cell<usize>,
    from: [Cell<usize>; DEEPEST],
}

// A guest's own, because guest code runs with the guest's thread-local storage.
thread_local! {
    static CALLS: Calls = const {
        Calls {
            depth: Cell::new(0),
            from: [const { Cell::new(0) }; DEEPEST],
        }
    };
}

/// Where the code of the system's libraries is.
static FOREIGN: OnceLock<Vec<std::ops::Range<usize>>> = OnceLock::new();

/// At the beginning of an execution, in its first thread.
pub(crate) fn begin() {
    FOREIGN.get_or_init(foreign);
    CALLS.with(|calls| calls.depth.set(0));
}

/// In guest mode: the instruction itself if it is the user's, or the last one that was.
#[inline]
pub(crate) fn users(code: usize) -> usize {
    let foreign = FOREIGN.get().map_or(&[][..], Vec::as_slice);
    if foreign.iter().all(|range| !range.contains(&code)) {
        return code;
    }
    CALLS.with(|calls| {
        let depth = calls.depth.get().min(DEEPEST);
        let from = calls.from[..depth].iter().rev().map(Cell::get);
        let mut from = from.filter(|code| foreign.iter().all(|range| !range.contains(code)));
        from.next().unwrap_or(code)
    })
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_entry(caller: usize) {
    CALLS.with(|calls| {
        let depth = calls.depth.get();
        if let Some(from) = calls.from.get(depth) {
            from.set(caller);
        }
        calls.depth.set(depth + 1);
    });
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {
    CALLS.with(|calls| calls.depth.set(calls.depth.get().saturating_sub(1)));
}

fn foreign() -> Vec<std::ops::Range<usize>> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
        type List = Vec<std::ops::Range<usize>>;
        // SAFETY: the loader describes a module and knows its name, and `to` is the list.
        let (info, name, list) = unsafe {
            let info = &*info;
            let name = CStr::from_ptr(info.dlpi_name);
            (info, name.to_string_lossy(), &mut *to.cast::<List>())
        };
        if !name.starts_with(symbols::SYSTEM) && !name.starts_with("/lib") {
            return 0;
        }
        for header in snapshot::headers(info) {
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                let start = (info.dlpi_addr + header.p_vaddr) as usize;
                list.push(start..start + header.p_memsz as usize);
            }
        }
        0
    }
    let mut list = Vec::new();
    // SAFETY: the function matches, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut list).cast()) };
    list
}
