//! The program's heap: `malloc` and its family.
//!
//! Within one execution no memory is used twice, and in every execution the same calls have the same
//! addresses: each thread has a [lane](lanes) of its own, so that the schedule makes no difference. What is on the heap when a check begins is part of the snapshot; what comes later is
//! gone with the execution. New memory has the same bytes each time, so that nobody depends on what
//! an earlier execution left there. Calls of raddle's own code, and of threads that nobody controls,
//! get memory of raddle's while a check runs.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::blocks::{self, Bad};
use super::{shadow, thread_heaps};
use crate::abi::trampoline;
use crate::check;
use crate::engine::Manner;
use crate::entry::plain;
use crate::execution::{running, shadow_stack};
use crate::host::arena::{self, Arena};
use crate::host::{loaded, mode};
use crate::process::harness;
use crate::rust::channels;
use crate::threads::failure;

/// Room for what the first thread asks for; only what is used costs anything.
pub(crate) const SIZE: usize = 4 << 30;
/// So much of it may an execution use, if nobody says otherwise.
const USUAL_LIMIT: usize = 1 << 30;
/// How the user says otherwise.
const LIMIT_NAME: &str = "RADDLE_HEAP";
/// Before every piece: how large it is, and the number of its block, or for pieces of raddle's where they begin.
const HEADER: usize = 16;
const ALIGNMENT: usize = 16;
/// Pieces of this size and more are empty at first; what others are filled with.
const LARGE: usize = 128 << 10;
const PAGE: usize = 4096;
const UNMADE: u8 = 0xa5;

static START: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static LOCK: AtomicBool = AtomicBool::new(false);
/// How many pieces are in use.
static PIECES: AtomicUsize = AtomicUsize::new(0);
/// How much a check may use, beyond what was used before; 0 outside of checks.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// The part of the heap that is in use.
pub(crate) fn used() -> std::ops::Range<usize> {
    prepare();
    START.load(Relaxed)..NEXT.load(Relaxed)
}

/// How many pieces the program has and has not given back.
pub(crate) fn pieces() -> usize {
    PIECES.load(Relaxed)
}

/// Gives back everything from this address on, and all that other threads asked for.
pub(crate) fn reset(next: usize) {
    NEXT.store(next, Relaxed);
    thread_heaps::reset();
    blocks::reset(next);
}

/// At the beginning of a check.
pub(crate) fn limit() {
    let limit = match std::env::var(LIMIT_NAME) {
        Err(_) => USUAL_LIMIT,
        Ok(text) => parse(&text).unwrap_or_else(|| {
            eprintln!(
                "raddle: {LIMIT_NAME}: `{text}` is not a size such as 64M or 2G, of 4G at most"
            );
            USUAL_LIMIT
        }),
    };
    LIMIT.store(used().len().saturating_add(limit), Relaxed);
}

fn parse(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let size = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    (1..=SIZE).contains(&size).then_some(size)
}

/// The calling guest has asked for so much at once that there is no room for it. A real system would
/// not have that much either, or it has gone on for too long.
fn refuse(size: usize, site: usize) {
    if size < SIZE && mode::is_guest() {
        mode::host(|| {
            let limit = LIMIT.load(Relaxed) >> 20;
            let message = format!(
                "the program has more than {limit} MiB from malloc\nhelp: {LIMIT_NAME} raises the limit"
            );
            failure::fail_in(Manner::Crash, message, site)
        });
    }
}

fn prepare() {
    if START.load(Relaxed) == 0 {
        let mut start = arena::map_for_program(SIZE + thread_heaps::SIZE) as usize;
        match start {
            0 => start = arena::map_for_program(SIZE) as usize,
            _ => thread_heaps::begin_at(start + SIZE),
        }
        START.store(start, Relaxed);
        NEXT.store(start, Relaxed);
    }
}

/// Where the next piece of the running thread will be, or behind that.
pub(crate) fn end() -> usize {
    thread_heaps::end().unwrap_or(NEXT.load(Relaxed))
}

pub(crate) fn is_ours(address: usize) -> bool {
    let start = START.load(Relaxed);
    start != 0 && ((start..start + SIZE).contains(&address) || thread_heaps::at(address).is_some())
}

/// Room for a piece, which is written down with the site that asked for it.
fn take(size: usize, alignment: usize, site: usize) -> usize {
    while LOCK.swap(true, std::sync::atomic::Ordering::Acquire) {
        std::hint::spin_loop();
    }
    prepare();
    let start = START.load(Relaxed);
    let room = size.max(1);
    let limit = match LIMIT.load(Relaxed) {
        0 => SIZE,
        limit => limit.min(SIZE),
    };
    let used = NEXT.load(Relaxed) - start + thread_heaps::used();
    let is_allowed = start != 0 && room < SIZE && used + room + alignment + HEADER <= limit;
    let in_lane = if is_allowed {
        thread_heaps::take(room, alignment, HEADER)
    } else {
        None
    };
    let piece = in_lane.unwrap_or((NEXT.load(Relaxed) + HEADER).next_multiple_of(alignment));
    let fits = is_allowed && (in_lane.is_some() || piece + room <= start + SIZE);
    if fits {
        if in_lane.is_none() {
            NEXT.store(piece + room, Relaxed);
        }
        PIECES.store(PIECES.load(Relaxed) + 1, Relaxed);
        let number = blocks::add(piece, size, site);
        // SAFETY: there is room for the header before the piece.
        unsafe { header(piece as *mut u8).add(1).write(number) };
    }
    LOCK.store(false, std::sync::atomic::Ordering::Release);
    if fits { piece } else { 0 }
}

fn allocate(size: usize, alignment: usize, code: usize) -> *mut u8 {
    let alignment = alignment.max(ALIGNMENT);
    let is_guest = mode::is_guest();
    if check::is_running() && !is_guest && !harness::is_after() {
        return allocate_aside(size, alignment);
    }
    let site = if is_guest {
        shadow_stack::users(code)
    } else {
        code
    };
    let piece = take(size, alignment, site) as *mut u8;
    if is_guest {
        channels::allocated(piece as usize, size);
    }
    if piece.is_null() {
        refuse(size, site);
    } else {
        // SAFETY: there is room for the header before the piece, and for `size` bytes in it.
        unsafe {
            header(piece).write(size);
            match size < LARGE {
                true => piece.write_bytes(UNMADE, size),
                false => clear(piece, size),
            }
        }
    }
    piece
}

/// Makes much memory like new without using it.
///
/// # Safety
///
/// The memory must be the heap's, and nobody may use it.
unsafe fn clear(piece: *mut u8, size: usize) {
    let end = piece as usize + size;
    let (first, last) = ((piece as usize).next_multiple_of(PAGE), end & !(PAGE - 1));
    // SAFETY: vouched for by the caller; whole pages that are given back are empty when they are next used.
    unsafe {
        piece.write_bytes(0, first - piece as usize);
        libc::madvise(first as *mut c_void, last - first, libc::MADV_DONTNEED);
        (last as *mut u8).write_bytes(0, end - last);
    }
}

/// In guest mode: memory that the program maps by itself, from the heap, so that it is gone with the execution
/// and has the same address in each. 0 if there is no room.
pub(crate) fn map(size: usize, code: usize) -> usize {
    let piece = take(size.next_multiple_of(PAGE), PAGE, shadow_stack::users(code)) as *mut u8;
    if !piece.is_null() {
        // SAFETY: there is room for the header before the piece, and for `size` bytes in it.
        unsafe {
            header(piece).write(size);
            erase(piece as usize, size);
        }
    }
    piece as usize
}

/// Makes memory of the heap empty.
///
/// # Safety
///
/// Nobody may use it.
pub(crate) unsafe fn erase(start: usize, size: usize) {
    // SAFETY: vouched for by the caller.
    unsafe {
        match size < LARGE {
            true => (start as *mut u8).write_bytes(0, size),
            false => clear(start as *mut u8, size),
        }
    }
}

/// Memory of raddle's.
fn allocate_aside(size: usize, alignment: usize) -> *mut u8 {
    let Some(whole) = size.checked_add(HEADER + alignment) else {
        return null_mut();
    };
    // SAFETY: the layout is not empty; the header is before the piece and inside what was asked for.
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

/// The size of a piece, or for one of raddle's the size of the whole and where it begins.
fn header(piece: *mut u8) -> *mut usize {
    piece.wrapping_sub(HEADER).cast()
}

/// # Safety
///
/// A piece that was allocated here and not freed.
unsafe fn size_of(piece: *mut u8) -> usize {
    // SAFETY: vouched for by the caller.
    unsafe {
        match is_ours(piece as usize) {
            true => *header(piece),
            false => *header(piece).add(1) + *header(piece) - piece as usize,
        }
    }
}

/// # Safety
///
/// As for [`size_of`]; nobody uses the piece any more.
unsafe fn release(piece: *mut u8, code: usize) {
    // SAFETY: vouched for by the caller.
    unsafe {
        if is_ours(piece as usize) {
            match mode::is_guest() {
                true => give_up(piece, code),
                false => PIECES.store(pieces().saturating_sub(1), Relaxed),
            }
        } else if mode::is_guest() && is_no_piece(piece as usize) {
            plain::fail(
                Bad::Outside,
                piece as usize,
                plain::FREES,
                shadow_stack::users(code),
            );
        } else {
            let whole = Layout::from_size_align_unchecked(*header(piece), ALIGNMENT);
            Arena.dealloc(*header(piece).add(1) as *mut u8, whole);
        }
    }
}

/// In guest mode: whether an address that is not in the heap is that of a variable.
fn is_no_piece(address: usize) -> bool {
    let is_static = || loaded::any(|module| module.contains(address));
    running().is_on_stack(trampoline::stack(), address) || is_static()
}

/// A guest has done with a piece, if it is one.
fn give_up(piece: *mut u8, code: usize) {
    let (address, site) = (piece as usize, shadow_stack::users(code));
    let number = match address >= START.load(Relaxed) + HEADER {
        // SAFETY: the heap can be read, and this is in it.
        true => unsafe { header(piece).add(1).read_unaligned() },
        false => usize::MAX,
    };
    match blocks::free(address, number, site) {
        Ok(size) => {
            PIECES.store(pieces().saturating_sub(1), Relaxed);
            // Who still uses it should have been in order with this.
            plain::access_range(address, size, true, code);
            shadow::forget(address..address + size);
            blocks::is_freed(address);
        }
        Err(bad) => plain::fail(bad, address, plain::FREES, site),
    }
}

fn or_no_memory(piece: *mut u8) -> *mut c_void {
    if piece.is_null() {
        mode::set_errno(libc::ENOMEM);
    }
    piece.cast()
}

trampoline::aside! {
    fn malloc(size: usize) -> *mut c_void as make("rsi");
    fn calloc(count: usize, size: usize) -> *mut c_void as make_empty("rdx");
    fn realloc(piece: *mut u8, size: usize) -> *mut c_void as reallocate("rdx");
    fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int as align("rcx");
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void as make_aligned("rdx");
    fn memalign(alignment: usize, size: usize) -> *mut c_void as make_roundly("rdx");
    fn _Znwm(size: usize) -> *mut c_void as make("rsi");
    fn _Znam(size: usize) -> *mut c_void as make("rsi");
    fn free(piece: *mut u8) -> () as give_back("rsi");
    fn _ZdlPv(piece: *mut u8) -> () as give_back("rsi");
    fn _ZdaPv(piece: *mut u8) -> () as give_back("rsi");
    fn _ZdlPvm(piece: *mut u8, size: usize) -> () as give_back_sized("rdx");
    fn _ZdaPvm(piece: *mut u8, size: usize) -> () as give_back_sized("rdx");
}

extern "C" fn make(size: usize, code: usize) -> *mut c_void {
    or_no_memory(allocate(size, ALIGNMENT, code))
}

extern "C" fn make_empty(count: usize, size: usize, code: usize) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        return or_no_memory(null_mut());
    };
    let piece = allocate(size, ALIGNMENT, code);
    if !piece.is_null() && (size < LARGE || !is_ours(piece as usize)) {
        // SAFETY: the piece is that large.
        unsafe { piece.write_bytes(0, size) };
    }
    or_no_memory(piece)
}

extern "C" fn reallocate(piece: *mut u8, size: usize, code: usize) -> *mut c_void {
    let new = allocate(size, ALIGNMENT, code);
    if !piece.is_null() && !new.is_null() {
        // SAFETY: both pieces are that large, and the program has done with the old one.
        unsafe {
            std::ptr::copy_nonoverlapping(piece, new, size.min(size_of(piece)));
            release(piece, code);
        }
    }
    or_no_memory(new)
}

extern "C" fn give_back(piece: *mut u8, code: usize) {
    if !piece.is_null() {
        // SAFETY: the program has done with a piece that it was given here.
        unsafe { release(piece, code) };
    }
}

extern "C" fn give_back_sized(piece: *mut u8, _size: usize, code: usize) {
    give_back(piece, code);
}

extern "C" fn align(to: *mut *mut c_void, alignment: usize, size: usize, code: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(std::mem::size_of::<usize>()) {
        return libc::EINVAL;
    }
    let piece = allocate(size, alignment, code);
    if piece.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program says where it wants the address.
    unsafe { to.write(piece.cast()) };
    0
}

extern "C" fn make_aligned(alignment: usize, size: usize, code: usize) -> *mut c_void {
    match alignment.is_power_of_two() {
        true => or_no_memory(allocate(size, alignment, code)),
        false => {
            mode::set_errno(libc::EINVAL);
            null_mut()
        }
    }
}

extern "C" fn make_roundly(alignment: usize, size: usize, code: usize) -> *mut c_void {
    or_no_memory(allocate(size, alignment.next_power_of_two(), code))
}

#[unsafe(no_mangle)]
extern "C" fn malloc_usable_size(piece: *mut u8) -> usize {
    if piece.is_null() {
        return 0;
    }
    // SAFETY: the program asks about a piece that it was given here.
    unsafe { size_of(piece) }
}
