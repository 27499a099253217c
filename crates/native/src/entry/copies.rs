//! Instrumented versions of `memcpy`, `memmove` and `memset`.

use std::ffi::{c_int, c_void};

use super::plain::{access_range, copy_range};
use crate::abi::trampoline::on_alternate_stack;

on_alternate_stack! {
    fn __tsan_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void as copy("rcx");
    fn __tsan_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void as copy("rcx");
    fn __tsan_memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void as fill("rcx");
    fn __wrap_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void as copy("rcx");
    fn __wrap_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void as copy("rcx");
    fn __wrap_memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void as fill("rcx");
}

extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize, code: usize) -> *mut c_void {
    copy_range(from as usize, to as usize, size, code);
    // SAFETY: callers of `memcpy`, `memmove` and `memset` promise buffers of this size, and the program has
    // called one of them.
    unsafe { libc::memmove(to, from, size) }
}

extern "C" fn fill(to: *mut c_void, byte: c_int, size: usize, code: usize) -> *mut c_void {
    access_range(to as usize, size, true, code);
    // SAFETY: callers of `memcpy`, `memmove` and `memset` promise buffers of this size, and the program has
    // called one of them.
    unsafe { libc::memset(to, byte, size) }
}
