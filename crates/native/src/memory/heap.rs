//! The program's heap.
//!
//! Within one execution no memory is used twice, and the same calls have the same addresses in
//! every execution. Each thread has a [heap](thread_heaps) of its own, so that addresses do not
//! depend on the schedule. Blocks from before the check are part of the snapshot; later ones end
//! with the execution. New memory is filled with the same bytes each time, so that no program
//! depends on the contents that an earlier execution left.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::heap_range::{self, SIZE};
use super::{blocks, thread_heaps, unwritten};
use crate::execution::shadow_stack;
use crate::host::arena::{self, Arena};

/// Default limit of an execution's heap, in bytes.
const USUAL_LIMIT: usize = 1 << 30;
/// Environment variable of the limit.
pub(crate) const LIMIT_NAME: &str = "RADDLE_HEAP";
/// Bytes of the header before each piece: its size, and the number of its block, or the start of
/// the allocation for pieces of raddle's.
const HEADER: usize = 16;
pub(crate) const ALIGNMENT: usize = 16;
/// Bytes from which on pieces are zeroed; smaller ones are filled with `UNMADE`.
const LARGE: usize = 128 << 10;
const PAGE: usize = 4096;
const UNMADE: u8 = 0xa5;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static LOCK: AtomicBool = AtomicBool::new(false);
/// Number of pieces in use.
static PIECES: AtomicUsize = AtomicUsize::new(0);
/// Maximum number of bytes in use during a check; 0 outside of checks.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Returns the range of the heap that is in use.
pub(crate) fn used() -> std::ops::Range<usize> {
    prepare();
    heap_range::start()..NEXT.load(Relaxed)
}

/// Returns the number of pieces that the program has allocated and not freed.
pub(crate) fn pieces() -> usize {
    PIECES.load(Relaxed)
}

/// Frees all memory from this address on, and all of the thread heaps.
pub(crate) fn reset(next: usize) {
    NEXT.store(next, Relaxed);
    thread_heaps::reset();
    blocks::reset(next);
}

/// Limits the bytes of an execution in the check that begins; the table of settings keeps `wanted` within
/// [`SIZE`].
pub(crate) fn limit(wanted: Option<u64>) {
    let limit = wanted.map_or(USUAL_LIMIT, |limit| limit as usize);
    LIMIT.store(used().len().saturating_add(limit), Relaxed);
}

fn prepare() {
    if heap_range::start() == 0 {
        let mut start = arena::map_for_program(SIZE + thread_heaps::SIZE) as usize;
        match start {
            0 => start = arena::map_for_program(SIZE) as usize,
            _ => thread_heaps::begin_at(start + SIZE),
        }
        heap_range::begin_at(start);
        NEXT.store(start, Relaxed);
    }
}

/// Returns the address of the running thread's next piece, or one below it.
pub(crate) fn end() -> usize {
    thread_heaps::end().unwrap_or(NEXT.load(Relaxed))
}

/// Returns memory for a new piece, and records the site of its allocation.
fn take(size: usize, alignment: usize, site: usize) -> usize {
    while LOCK.swap(true, std::sync::atomic::Ordering::Acquire) {
        std::hint::spin_loop();
    }
    prepare();
    let start = heap_range::start();
    let room = size.max(1);
    let limit = match LIMIT.load(Relaxed) {
        0 => SIZE,
        limit => limit.min(SIZE),
    };
    let used = NEXT.load(Relaxed) - start + thread_heaps::used();
    let is_allowed = start != 0 && room < SIZE && used + room + alignment + HEADER <= limit;
    let in_thread_heap = if is_allowed {
        thread_heaps::take(room, alignment, HEADER)
    } else {
        None
    };
    let piece = in_thread_heap.unwrap_or((NEXT.load(Relaxed) + HEADER).next_multiple_of(alignment));
    let fits = is_allowed && (in_thread_heap.is_some() || piece + room <= start + SIZE);
    if fits {
        if in_thread_heap.is_none() {
            NEXT.store(piece + room, Relaxed);
        }
        PIECES.store(PIECES.load(Relaxed) + 1, Relaxed);
        let number = blocks::add(piece, size, site);
        // SAFETY: `take` leaves room for the header before the piece, which is inside the heap.
        unsafe { header(piece as *mut u8).add(1).write(number) };
    }
    LOCK.store(false, std::sync::atomic::Ordering::Release);
    if fits { piece } else { 0 }
}

/// Returns a piece of the program's heap, and records the site of its allocation; null if there is
/// no memory left.
pub(crate) fn allocate(size: usize, alignment: usize, site: usize) -> *mut u8 {
    let piece = take(size, alignment, site) as *mut u8;
    if !piece.is_null() {
        // SAFETY: `take` leaves room for the header before the piece and for `size` bytes in it, and nothing
        // else refers to them.
        unsafe {
            header(piece).write(size);
            match size < LARGE {
                _ if unwritten::fills(size) => unwritten::fill(piece as usize, size),
                true => piece.write_bytes(UNMADE, size),
                false => clear(piece, size),
            }
        }
    }
    piece
}

/// Zeroes a large range without touching its pages.
///
/// # Safety
///
/// The memory must be the heap's, and not in use.
unsafe fn clear(piece: *mut u8, size: usize) {
    let end = piece as usize + size;
    let (first, last) = ((piece as usize).next_multiple_of(PAGE), end & !(PAGE - 1));
    // SAFETY: the caller promises that the piece has this size and is not in use. The kernel
    // replaces released pages by zeroed ones.
    unsafe {
        piece.write_bytes(0, first - piece as usize);
        libc::madvise(first as *mut c_void, last - first, libc::MADV_DONTNEED);
        (last as *mut u8).write_bytes(0, end - last);
    }
}

/// In guest mode: returns memory for a mapping of the program; 0 if there is none left. It is from
/// the heap, so that it ends with the execution and has the same address in each.
pub(crate) fn map(size: usize, code: usize) -> usize {
    let piece = take(size.next_multiple_of(PAGE), PAGE, shadow_stack::users(code)) as *mut u8;
    if !piece.is_null() {
        // SAFETY: `take` leaves room for the header before the piece and for `size` bytes in it, and nothing
        // else refers to them.
        unsafe {
            header(piece).write(size);
            erase(piece as usize, size);
        }
    }
    piece as usize
}

/// Zeroes memory of the heap.
///
/// # Safety
///
/// It must not be in use.
pub(crate) unsafe fn erase(start: usize, size: usize) {
    // SAFETY: the range is inside of the heap, which is mapped and writable, and is not in use, as the caller
    // promises.
    unsafe {
        match size < LARGE {
            true => (start as *mut u8).write_bytes(0, size),
            false => clear(start as *mut u8, size),
        }
    }
}

/// Returns a piece of raddle's memory; null if there is none.
pub(crate) fn allocate_for_host(size: usize, alignment: usize) -> *mut u8 {
    let Some(whole) = size.checked_add(HEADER + alignment) else {
        return null_mut();
    };
    // SAFETY: `alloc` needs a layout that is not empty, with a power of two as its alignment. The
    // header is before the piece and inside of the allocated memory.
    unsafe {
        let start = Arena.alloc(Layout::from_size_align_unchecked(whole, ALIGNMENT));
        if start.is_null() {
            return start;
        }
        let piece = (start as usize + HEADER).next_multiple_of(alignment) as *mut u8;
        header(piece).write(whole);
        header(piece).add(1).write(start as usize);
        piece
    }
}

/// Returns the address of a piece's header: its size, or for one of raddle's the size and the start
/// of the allocation.
fn header(piece: *mut u8) -> *mut usize {
    piece.wrapping_sub(HEADER).cast()
}

/// Frees a piece of raddle's memory.
///
/// # Safety
///
/// It must come from [`allocate_for_host`], and not be in use any more.
pub(crate) unsafe fn free_for_host(piece: *mut u8) {
    // SAFETY: the piece has a header, and is as large as that says, because it comes from here, as the caller
    // promises.
    unsafe {
        let whole = Layout::from_size_align_unchecked(*header(piece), ALIGNMENT);
        Arena.dealloc(*header(piece).add(1) as *mut u8, whole);
    }
}

/// Counts one piece of the program's less.
pub(crate) fn count_freed() {
    PIECES.store(pieces().saturating_sub(1), Relaxed);
}

/// Returns the number of a piece's block, from its header. The program may have overwritten it, or
/// there may be no block.
pub(crate) fn block_number(piece: *mut u8) -> usize {
    match piece as usize >= heap_range::start() + HEADER {
        // SAFETY: the word is inside of the heap, all of which is mapped and readable.
        true => unsafe { header(piece).add(1).read_unaligned() },
        false => usize::MAX,
    }
}

/// Returns the limit of the check, in bytes.
pub(crate) fn current_limit() -> usize {
    LIMIT.load(Relaxed)
}

/// True if new pieces of this size are zeroed.
pub(crate) fn is_zeroed(piece: *mut u8, size: usize) -> bool {
    size >= LARGE && heap_range::contains(piece as usize) && !unwritten::fills(size)
}

/// Returns the size of a piece.
///
/// # Safety
///
/// The piece must have been allocated here and not freed.
pub(crate) unsafe fn size_of(piece: *mut u8) -> usize {
    // SAFETY: the piece has a header, and is as large as that says, because it comes from here, as the caller
    // promises.
    unsafe {
        match heap_range::contains(piece as usize) {
            true => *header(piece),
            false => *header(piece).add(1) + *header(piece) - piece as usize,
        }
    }
}
