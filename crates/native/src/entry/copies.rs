//! Instrumented versions of `memcpy`, `memmove` and `memset`.
//!
//! Unoptimised programs copy each value many times, from one variable of the running thread to another. So assembly
//! copies these and [lists](crate::memory::own_accesses) the two accesses. In code internal to std, it only copies.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;

use super::plain::{access_range, copy_range};
use crate::abi::registers::unless_guest;
use crate::abi::trampoline::{on_alternate_stack, out_of_line};
use crate::execution::call_tree::Call;
use crate::execution::shadow_stack::{self, Calls, KnownSite};
use crate::memory::own_accesses::{OwnAccess, OwnAccesses, WRITES};
use crate::memory::shadow::{self, Now};
use crate::rust::sync;

/// Maximum size of a copy by the assembly.
const LARGEST: usize = 256;

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
extern "C" fn __tsan_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    naked_asm!(
        unless_guest!("{anew}"),
        "lea rax, [rdx - 1]",
        "cmp rax, {largest}",
        "jae {anew}",
        "mov rcx, [rip + {offset}]",
        "mov rcx, fs:[rcx + {last}]",
        "test rcx, rcx",
        "je {anew}",
        "mov r8, [rsp]",
        "cmp byte ptr [rcx + {is_inside}], 0",
        "je 7f",
        // In code internal to std, nothing is recorded.
        "mov r9d, r8d",
        "and r9d, {inside_mask}",
        "lea r10, [rip + {inside}]",
        "lea rax, [r8 + r8 + 1]",
        "cmp [r10 + r9 * 8], rax",
        "je 8f",
        "7:",
        "mov r11, [rip + {now}]",
        "test r11, r11",
        "je {anew}",
        "mov rax, [rip + {epoch}]",
        "cmp rax, [r11 + {now_epoch}]",
        "jne {anew}",
        // Both are on the thread's own stack.
        "cmp rdi, rsp",
        "jb {anew}",
        "cmp rsi, rsp",
        "jb {anew}",
        "mov r9, [r11 + {end_of_stack}]",
        "sub r9, rdx",
        "cmp rdi, r9",
        "ja {anew}",
        "cmp rsi, r9",
        "ja {anew}",
        // The slot, as `shadow_stack::site` computes it.
        "mov r9, rcx",
        "shr r9, 6",
        "xor r9d, r8d",
        "and r9d, {sites_mask}",
        "lea r9, [r9 + r9 * 2]",
        "lea rax, [rip + {sites}]",
        "lea r9, [rax + r9 * 8]",
        "cmp [r9 + {site_call}], rcx",
        "jne {anew}",
        "cmp [r9 + {site_code}], r8",
        "jne {anew}",
        "mov r9, [r9 + {site}]",
        "mov r10, [r11 + {list}]",
        "mov rax, [r10 + {next}]",
        "lea r8, [rax + 2 * {listed_size}]",
        "cmp r8, [r10 + {end}]",
        "ja {anew}",
        "mov [r10 + {next}], r8",
        "mov r8d, [r11 + {now_index}]",
        "mov [rax + {listed_address}], rsi",
        "mov [rax + {listed_site}], r9",
        "mov [rax + {listed_index}], r8d",
        "mov [rax + {listed_kind}], edx",
        "mov [rax + {listed_size} + {listed_address}], rdi",
        "mov [rax + {listed_size} + {listed_site}], r9",
        "mov [rax + {listed_size} + {listed_index}], r8d",
        "mov ecx, edx",
        "or ecx, {writes}",
        "mov [rax + {listed_size} + {listed_kind}], ecx",
        // The copy, in order of addresses.
        "8:",
        "mov rax, rdi",
        "mov ecx, edx",
        "and ecx, 0x1f0",
        "je 3f",
        "add rsi, rcx",
        "add rdi, rcx",
        "neg rcx",
        "2:",
        "movups xmm0, [rsi + rcx]",
        "movups [rdi + rcx], xmm0",
        "add rcx, 16",
        "jne 2b",
        "3:",
        "test dl, 8",
        "je 4f",
        "mov rcx, [rsi]",
        "mov [rdi], rcx",
        "add rsi, 8",
        "add rdi, 8",
        "4:",
        "and edx, 7",
        "je 6f",
        "5:",
        "mov cl, [rsi]",
        "mov [rdi], cl",
        "inc rsi",
        "inc rdi",
        "dec edx",
        "jne 5b",
        "6:",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "ret",
        guest = sym crate::abi::guest::GUEST,
        largest = const LARGEST,
        offset = sym shadow_stack::OFFSET,
        last = const offset_of!(Calls, last),
        is_inside = const offset_of!(Call, is_inside),
        inside = sym sync::INSIDE,
        inside_mask = const sync::INSIDE.len() - 1,
        now = sym shadow::NOW,
        epoch = sym crate::host::mode::EPOCH,
        now_epoch = const offset_of!(Now, epoch),
        end_of_stack = const offset_of!(Now, end_of_stack),
        now_index = const offset_of!(Now, index),
        list = const offset_of!(Now, list),
        next = const offset_of!(OwnAccesses, next),
        end = const offset_of!(OwnAccesses, end),
        sites = sym shadow_stack::KNOWN_SITES,
        sites_mask = const shadow_stack::SITES - 1,
        site_call = const offset_of!(KnownSite, call),
        site_code = const offset_of!(KnownSite, code),
        site = const offset_of!(KnownSite, site),
        listed_address = const offset_of!(OwnAccess, address),
        listed_site = const offset_of!(OwnAccess, site),
        listed_index = const offset_of!(OwnAccess, index),
        listed_kind = const offset_of!(OwnAccess, kind),
        listed_size = const size_of::<OwnAccess>(),
        writes = const WRITES,
        anew = sym copy_anew,
    )
}

// The sizes of the steps.
const _: () = assert!(LARGEST < 512);

out_of_line! {
    fn copy_anew(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void as copy("rcx");
}

on_alternate_stack! {
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
