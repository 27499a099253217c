//! Memory that a process shares with its forked children.
//!
//! One large range is reserved when the first check needs it. From then on all memory of raddle's comes from
//! there, so an allocation by a child exists in its parent. Memory that raddle has before that is made shared
//! in place.

use std::ffi::{c_int, c_void};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::lock::Lock;
use super::{loaded, system};

/// Bytes of the reserved range; the kernel provides only the pages that are used.
const SIZE: usize = 64 << 30;
const PAGE: usize = 4096;
const KEPT: usize = 4096;

static START: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Unmapped pieces: start and size in bytes; a free entry has size 0.
static UNUSED: Lock<[(usize, usize); KEPT]> = Lock::new([(0, 0); KEPT]);
/// Changes of protection by this process, for its parent. Those that do not fit are left out: the
/// memory stays accessible.
static PROTECTED: Lock<Changes> = Lock::new(Changes {
    list: [(0, 0, 0); KEPT],
    count: 0,
});

struct Changes {
    list: [(usize, usize, c_int); KEPT],
    count: usize,
}

/// Requests memory from the kernel.
fn ask(size: usize, flags: c_int) -> usize {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: without MAP_FIXED, `mmap` touches no memory that is in use.
    let start =
        unsafe { system::call(libc::SYS_mmap, [0, size, protection, flags, usize::MAX, 0]) };
    match start {
        ..=0 => panic!(
            "raddle: no memory that processes can share: error {}",
            -start
        ),
        start => start as usize,
    }
}

/// Returns memory of this process alone.
pub(crate) fn map_own(size: usize) -> usize {
    ask(size, libc::MAP_PRIVATE)
}

/// True if memory comes from the shared range.
pub(crate) fn is_used() -> bool {
    START.load(Relaxed) != 0
}

/// True if the address is in the shared range.
pub(crate) fn contains(address: usize) -> bool {
    let start = START.load(Relaxed);
    start != 0 && (start..start + SIZE).contains(&address)
}

/// Returns zeroed memory, in whole pages.
pub(crate) fn map(size: usize) -> usize {
    let size = size.next_multiple_of(PAGE);
    let used = UNUSED.with(|unused| {
        let found = unused.iter_mut().find(|unused| unused.1 == size);
        found.map(std::mem::take)
    });
    if let Some((start, _)) = used {
        return start;
    }
    let start = NEXT.fetch_add(size, Relaxed);
    assert!(
        contains(start + size),
        "raddle: no memory is left that processes share"
    );
    start
}

/// Releases memory from [`map`].
pub(crate) fn unmap(range: Range<usize>) {
    let size = range.len().next_multiple_of(PAGE);
    protect(
        range.start..range.start + size,
        libc::PROT_READ | libc::PROT_WRITE,
    );
    // SAFETY: the caller gives the range up, so that its contents may go. It is zeroed when it is next used.
    unsafe { libc::madvise(range.start as *mut c_void, size, libc::MADV_REMOVE) };
    UNUSED.with(|unused| {
        if let Some(free) = unused.iter_mut().find(|free| free.1 == 0) {
            *free = (range.start, size);
        }
    });
}

fn change(start: usize, size: usize, protection: c_int) -> isize {
    // SAFETY: `mprotect` must leave memory that is in use accessible: callers own the range, and are about to
    // use it by this protection.
    unsafe {
        system::call(
            libc::SYS_mprotect,
            [start, size, protection as usize, 0, 0, 0],
        )
    }
}

/// Sets the protection of a range in this process, and records it for the parent.
pub(crate) fn protect(range: Range<usize>, protection: c_int) -> isize {
    PROTECTED.with(|changes| {
        if let Some(next) = changes.list.get_mut(changes.count) {
            *next = (range.start, range.len(), protection);
            changes.count += 1;
        }
    });
    change(range.start, range.len(), protection)
}

/// Clears the recorded changes of protection, at the beginning of a child.
pub(crate) fn begin() {
    PROTECTED.with(|changes| changes.count = 0);
}

/// Repeats the changes of protection of a child that has ended.
pub(crate) fn adopt() {
    PROTECTED.with(|changes| {
        for (start, size, protection) in &changes.list[..changes.count] {
            change(*start, *size, *protection);
        }
    });
}

/// Makes all of raddle's memory shared: its mappings and its variables.
pub(crate) fn share_everything(mapped: &[(usize, usize)]) {
    if is_used() {
        return;
    }
    let start = ask(SIZE, libc::MAP_SHARED);
    let variables = variables();
    for &(start, size) in mapped {
        if size > 0 {
            share(start..start + size);
        }
    }
    share(variables);
    START.store(start, Relaxed);
    NEXT.store(start, Relaxed);
}

/// Makes all of raddle's memory private to this process, with its contents. The caller is not on a stack of
/// raddle's, and the memory is not written meanwhile.
pub(crate) fn own_everything(mapped: &[(usize, usize)]) {
    let start = START.load(Relaxed);
    for &(start, size) in mapped {
        if size > 0 {
            own(start..start + size, start + size);
        }
    }
    let variables = variables();
    own(start..start + SIZE, NEXT.load(Relaxed));
    own(variables.clone(), variables.end);
}

/// Makes memory private to this process, with its contents before `used`.
fn own(range: Range<usize>, used: usize) {
    const CHUNK: usize = 64;
    let copy = map_own(range.len());
    let mut is_there = [0u8; CHUNK];
    for chunk in (range.start..used).step_by(CHUNK * PAGE) {
        let size = (used - chunk).min(CHUNK * PAGE);
        // SAFETY: the kernel writes one byte for each page, of which there are at most `CHUNK`.
        let error = unsafe { libc::mincore(chunk as *mut c_void, size, is_there.as_mut_ptr()) };
        for (index, is_there) in is_there.iter().enumerate() {
            let page = chunk + index * PAGE;
            if page < chunk + size && (error != 0 || is_there & 1 != 0) {
                // The page may be protected against access.
                change(page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
                let to = (copy + (page - range.start)) as *mut u8;
                // SAFETY: the page is in the range, which was made readable, and the copy is as large as the
                // range.
                unsafe { std::ptr::copy_nonoverlapping(page as *const u8, to, PAGE) };
            }
        }
    }
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    let arguments = [copy, range.len(), range.len(), flags, range.start, 0];
    // SAFETY: the copy has the contents and the size of the mapping that it replaces, so that pointers into
    // that stay valid.
    unsafe { system::call(libc::SYS_mremap, arguments) };
}

/// Makes memory shared, with its contents. It must not be written meanwhile.
fn share(range: Range<usize>) {
    let copy = ask(range.len(), libc::MAP_SHARED);
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the copy is as large as the range, and has its contents when it takes its place, so that
    // pointers into that stay valid.
    let moved = unsafe {
        std::ptr::copy_nonoverlapping(range.start as *const u8, copy as *mut u8, range.len());
        let arguments = [copy, range.len(), range.len(), flags, range.start, 0];
        system::call(libc::SYS_mremap, arguments)
    };
    assert!(
        moved == range.start as isize,
        "raddle: memory cannot be shared: error {}",
        -moved
    );
}

/// Returns the range of this library's variables, in whole pages.
fn variables() -> Range<usize> {
    let found = loaded::find(|module| match module.is_ours() {
        true => ControlFlow::Break((module.variables().last(), module.sealed())),
        false => ControlFlow::Continue(()),
    });
    let Some((Some(variables), sealed)) = found else {
        return 0..0;
    };
    // The RELRO part cannot be written any more.
    let start = variables.start.max(sealed.end);
    start & !(PAGE - 1)..variables.end.next_multiple_of(PAGE)
}
