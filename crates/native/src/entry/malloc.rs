//! `malloc` and its family.
//!
//! Calls of raddle's own code, and of threads that are not controlled, get memory of raddle's while a check
//! runs.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::plain;
use crate::abi::alternate_stack;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::on_alternate_stack;
use crate::engine::Manner;
use crate::execution::{running, shadow_stack};
use crate::host::{loaded, mode, phase};
use crate::memory::blocks::{self, Bad};
use crate::memory::heap::{self, ALIGNMENT, LIMIT_NAME};
use crate::memory::{heap_range, unwritten};
use crate::rust::channels;
use crate::threads::{failure, heap_use};

fn allocate(size: usize, alignment: usize, code: usize) -> *mut u8 {
    let alignment = alignment.max(ALIGNMENT);
    let is_guest = mode::is_guest();
    if phase::is_checking() && !is_guest && !phase::is_harness_main() {
        return heap::allocate_for_host(size, alignment);
    }
    let site = if is_guest {
        shadow_stack::users(code)
    } else {
        code
    };
    let piece = heap::allocate(size, alignment, site);
    if is_guest {
        channels::allocated(piece as usize, size);
    }
    if piece.is_null() {
        refuse(size, site);
    }
    piece
}

/// Fails the calling guest, which has more memory than the limit allows. A single request beyond the whole
/// heap only returns null, as on a real system.
fn refuse(size: usize, site: usize) {
    if size < heap_range::SIZE && mode::is_guest() {
        mode::host(|| {
            let limit = heap::current_limit() >> 20;
            let message = format!(
                "the program has more than {limit} MiB from malloc\nhelp: {LIMIT_NAME} raises the limit"
            );
            failure::fail_in(Manner::Crash, message, site)
        });
    }
}

/// # Safety
///
/// As for [`heap::size_of`]; the piece must not be in use any more. `what` is the verb for messages.
unsafe fn release(piece: *mut u8, what: &'static str, code: usize) {
    // SAFETY: `free_for_host` needs a piece from `allocate_for_host` that is not used any more. The
    // piece is not in the heap or a module, so it comes from there, and the caller promises that it
    // is not used any more.
    unsafe {
        if heap_range::contains(piece as usize) {
            match mode::is_guest() {
                true => give_up(piece, what, code),
                false => heap::count_freed(),
            }
        } else if mode::is_guest() && is_no_piece(piece as usize) {
            plain::fail(
                Bad::Outside,
                piece as usize,
                what,
                shadow_stack::users(code),
            );
        } else {
            heap::free_for_host(piece);
        }
    }
}

/// In guest mode: true if an address that is not in the heap is that of a variable.
fn is_no_piece(address: usize) -> bool {
    let is_static = || loaded::any(|module| module.contains(address));
    running().is_on_stack(alternate_stack::program_stack(), address) || is_static()
}

/// Frees a piece of the heap for a guest; fails the guest if there is none.
fn give_up(piece: *mut u8, what: &'static str, code: usize) {
    let (address, site) = (piece as usize, shadow_stack::users(code));
    heap_use::check_free(address, site);
    match blocks::free(address, heap::block_number(piece), site) {
        Ok(size) => {
            heap::count_freed();
            // Uses of the block by other threads must happen before this.
            plain::access_to_free(address, size, code);
            blocks::is_freed(address);
        }
        Err(bad) => plain::fail(bad, address, what, site),
    }
}

fn or_no_memory(piece: *mut u8) -> *mut c_void {
    if piece.is_null() {
        mode::set_errno(libc::ENOMEM);
    }
    piece.cast()
}

on_alternate_stack! {
    fn malloc(size: usize) -> *mut c_void as make("rsi");
    fn calloc(count: usize, size: usize) -> *mut c_void as make_empty("rdx");
    fn realloc(piece: *mut u8, size: usize) -> *mut c_void as reallocate("rdx");
    fn posix_memalign(to: GuestPtr<*mut c_void>, alignment: usize, size: usize) -> c_int as align("rcx");
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
    if !piece.is_null() && !heap::is_zeroed(piece, size) {
        // SAFETY: `allocate` returns null or a piece of this size, which only this call knows yet.
        unsafe { piece.write_bytes(0, size) };
    }
    or_no_memory(piece)
}

extern "C" fn reallocate(piece: *mut u8, size: usize, code: usize) -> *mut c_void {
    let new = allocate(size, ALIGNMENT, code);
    if !piece.is_null() && !new.is_null() {
        // SAFETY: the new piece has `size` bytes and is not the old one, which is not freed yet. Callers of
        // `realloc` pass a piece from here that is not freed, and do not use it afterwards.
        unsafe {
            let kept = size.min(heap::size_of(piece));
            std::ptr::copy_nonoverlapping(piece, new, kept);
            if unwritten::is_on() && mode::is_guest() {
                unwritten::move_block(piece as usize, new as usize, kept);
            }
            release(piece, blocks::RESIZES, code);
        }
    }
    or_no_memory(new)
}

extern "C" fn give_back(piece: *mut u8, code: usize) {
    if !piece.is_null() {
        // SAFETY: callers of `free` pass a piece from here, which they do not use afterwards. `release` reports
        // guests that do not.
        unsafe { release(piece, blocks::FREES, code) };
    }
}

extern "C" fn give_back_sized(piece: *mut u8, _size: usize, code: usize) {
    give_back(piece, code);
}

extern "C" fn align(
    to: GuestPtr<*mut c_void>,
    alignment: usize,
    size: usize,
    code: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(std::mem::size_of::<usize>()) {
        return libc::EINVAL;
    }
    let piece = allocate(size, alignment, code);
    if piece.is_null() {
        return libc::ENOMEM;
    }
    to.write(piece.cast());
    0
}

extern "C" fn make_aligned(alignment: usize, size: usize, code: usize) -> *mut c_void {
    match alignment.is_power_of_two() {
        true => or_no_memory(allocate(size, alignment, code)),
        false => {
            check_alignment(alignment, code);
            mode::set_errno(libc::EINVAL);
            null_mut()
        }
    }
}

/// Fails the calling guest if the alignment is invalid, because the call is undefined then.
fn check_alignment(alignment: usize, code: usize) {
    if !alignment.is_power_of_two() && mode::is_guest() {
        let message = format!(
            "it asks for memory with an alignment of {alignment}, which is no power of two\n\
             help: round the alignment up"
        );
        let site = shadow_stack::users(code);
        mode::host(|| failure::fail_in(Manner::Crash, message, site));
    }
}

extern "C" fn make_roundly(alignment: usize, size: usize, code: usize) -> *mut c_void {
    check_alignment(alignment, code);
    or_no_memory(allocate(size, alignment.next_power_of_two(), code))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn malloc_usable_size(piece: *mut u8) -> usize {
    if piece.is_null() {
        return 0;
    }
    // SAFETY: callers of `malloc_usable_size` pass a piece from here that is not freed.
    unsafe { heap::size_of(piece) }
}
