//! Plain accesses of memory: they are not operations, but must be ordered by happens-before.
//!
//! Accesses of different bytes of a word do not conflict. Accesses of a signal handler that
//! interrupts this code are not recorded.
//!
//! These functions stay in guest mode, which is cheap: no other thread may run meanwhile. The state
//! of memory is in `memory/shadow.rs`.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::{on_alternate_stack, out_of_line};
use crate::execution::call_tree::Call;
use crate::execution::shadow_stack::{self, Calls, KnownSite};
use crate::host::mode::is_guest;
use crate::memory::blocks::Bad;
use crate::memory::granule::Granule;
use crate::memory::own_accesses::{OwnAccess, OwnAccesses, WRITES};
use crate::memory::shadow::{Now, PAGE, RECENT, RecentPage, WORD};
use crate::memory::{plain_choices, relevance, shadow, unwritten};
use crate::rust::sync;
use crate::threads::heap_use::{self, Use};
use crate::threads::{failure, unwritten_reads};

/// Records an access of `size` bytes by the running thread.
#[inline]
pub(crate) fn access_range(address: usize, size: usize, writes: bool, code: usize) {
    if is_guest() && !sync::is_inside(code) {
        access_outside(address, size, writes, code);
    }
}

/// In guest mode: as [`access_range`], in code that is not internal to std.
#[inline]
fn access_outside(address: usize, size: usize, writes: bool, code: usize) {
    if size == 0 || plain_choices::need_more() && access_with_more(address, size, writes, code) {
        return;
    }
    if let Some(bad) = shadow::access(address, size, writes, code) {
        fail(bad, address, verb(writes), shadow_stack::users(code));
    }
}

/// Records that the running thread copies `size` bytes.
pub(crate) fn copy_range(from: usize, to: usize, size: usize, code: usize) {
    if is_guest() && size > 0 && !sync::is_inside(code) {
        for (address, writes) in [(from, false), (to, true)] {
            if !shadow::list_own(address, size, writes, code) {
                access_outside(address, size, writes, code);
            }
        }
    }
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

/// In guest mode: the running thread accesses `size` bytes, in a check that asks for more than races. Returns true
/// if the access was made an operation.
#[cold]
fn access_with_more(address: usize, size: usize, writes: bool, code: usize) -> bool {
    let is_operation =
        plain_choices::are_explored() && access_explored(address, size, writes, code);
    if unwritten::is_on() {
        unwritten_reads::access(address, size, writes, code);
    }
    if relevance::is_on() {
        relevance::access_plainly(&(address..address + size), writes, code);
    }
    is_operation
}

/// In guest mode: handles an access of `size` bytes by the running thread, where plain accesses are
/// explored. Returns true if it was an operation.
fn access_explored(address: usize, size: usize, writes: bool, code: usize) -> bool {
    let used = Use {
        address,
        size,
        what: verb(writes),
        site: shadow_stack::users(code),
    };
    let is_operation = plain_choices::is_operation(address, size);
    if is_operation {
        used.begin_as_guest();
        plain_choices::perform(address, size, writes, code);
        used.end_as_guest();
    }
    is_operation
}

/// In guest mode: records that the running thread frees a block. All plain accesses of it must
/// happen before that.
pub(crate) fn access_to_free(address: usize, size: usize, code: usize) {
    match size > 0 && !sync::is_inside(code) {
        true => shadow::access_to_free(address, size, code),
        false => shadow::forget(address..address + size),
    }
}

/// In guest mode: ends the running thread after an invalid use of memory.
#[cold]
pub(crate) fn fail(bad: Bad, address: usize, what: &'static str, site: usize) -> ! {
    failure::diverge(|| {
        heap_use::fail(
            bad,
            Use {
                address,
                size: 0,
                what,
                site,
            },
        )
    })
}

/// Instructions that return if the access, of an address in `rdi`, needs nothing more. Otherwise they jump
/// to `{anew}`.
///
/// * It is internal to std, and the call site is known for that.
/// * It is of the thread's own stack, which no other thread has accessed, and the call site is known: then it is
///   [listed](crate::memory::own_accesses).
/// * It is of one word which the thread has written since its last event, or read if it reads. Parts of the
///   word have no other past then. `{index}` and `{thread}` are the fields of the last access of that kind.
///   A write outside of the thread's own stack is recorded once in each epoch, for threads that wait.
macro_rules! unless_recorded {
    () => {
        concat!(
            "mov rax, fs:[0x10]\n",
            "cmp rax, [rip + {guest}]\n",
            "jne 4f\n",
            "mov rcx, [rip + {offset}]\n",
            "mov rcx, fs:[rcx + {last}]\n",
            "mov rdx, [rsp]\n",
            "test rcx, rcx\n",
            "je 2f\n",
            "cmp byte ptr [rcx + {is_inside}], 0\n",
            "je 2f\n",
            "mov esi, edx\n",
            "and esi, {mask}\n",
            "lea r8, [rip + {inside}]\n",
            "lea rax, [rdx + rdx + 1]\n",
            "cmp [r8 + rsi * 8], rax\n",
            "je 4f\n",
            "2:\n",
            "mov r11, [rip + {now}]\n",
            "test r11, r11\n",
            "je {anew}\n",
            "mov rax, [rip + {epoch}]\n",
            "cmp rax, [r11 + {now_epoch}]\n",
            "jne {anew}\n",
            "cmp rdi, rsp\n",
            "jb 6f\n",
            "lea rax, [rdi + {size}]\n",
            "cmp rax, [r11 + {end_of_stack}]\n",
            "ja 6f\n",
            "mov r10, [r11 + {list}]\n",
            "mov rax, [r10 + {next}]\n",
            "cmp rax, [r10 + {end}]\n",
            "je 5f\n",
            // The slot, as `shadow_stack::site` computes it.
            "mov r8, rcx\n",
            "shr r8, 6\n",
            "xor r8d, edx\n",
            "and r8d, {sites_mask}\n",
            "lea r8, [r8 + r8 * 2]\n",
            "lea r9, [rip + {sites}]\n",
            "lea r8, [r9 + r8 * 8]\n",
            "cmp [r8 + {site_call}], rcx\n",
            "jne {anew}\n",
            "cmp [r8 + {site_code}], rdx\n",
            "jne {anew}\n",
            "mov rcx, [r8 + {site}]\n",
            "mov edx, [r11 + {now_index}]\n",
            "mov [rax + {listed_address}], rdi\n",
            "mov [rax + {listed_site}], rcx\n",
            "mov [rax + {listed_index}], edx\n",
            "mov dword ptr [rax + {listed_kind}], {kind}\n",
            "add rax, {listed_size}\n",
            "mov [r10 + {next}], rax\n",
            $crate::abi::registers::return_cleared!(),
            "6:\n",
            "cmp byte ptr [r11 + {has_forgotten}], {not_forgotten}\n",
            "je {anew}\n",
            "5:\n",
            "mov eax, edi\n",
            "and eax, 7\n",
            "cmp eax, 8 - {size}\n",
            "ja {anew}\n",
            "mov rax, rdi\n",
            "shr rax, 12\n",
            "movzx ecx, al\n",
            "shl ecx, 4\n",
            "cmp [r11 + rcx + {recent}], rax\n",
            "jne {anew}\n",
            "mov r10, [r11 + rcx + {recent} + 8]\n",
            "mov eax, edi\n",
            "and eax, 0xff8\n",
            "lea r10, [r10 + rax * 4]\n",
            "mov eax, [r11 + {stamp}]\n",
            "cmp [r10 + {meta}], eax\n",
            "jne {anew}\n",
            "mov eax, [r11 + {now_index}]\n",
            "movzx ecx, word ptr [r11 + {now_thread}]\n",
            "cmp [r10 + {write_index}], eax\n",
            "jne 3f\n",
            "cmp [r10 + {write_thread}], cx\n",
            "je 4f\n",
            "3:\n",
            "cmp [r10 + {index}], eax\n",
            "jne {anew}\n",
            "cmp [r10 + {thread}], cx\n",
            "jne {anew}\n",
            "4:\n",
            $crate::abi::registers::return_cleared!(),
        )
    };
}

// The instructions above compute these.
const _: () = assert!(sync::INSIDE.len().is_power_of_two());
const _: () = assert!(PAGE == 1 << 12 && RECENT == 1 << 8 && size_of::<RecentPage>() == 1 << 4);
const _: () = assert!(offset_of!(RecentPage, page) == 0 && offset_of!(RecentPage, granules) == 8);
const _: () = assert!(WORD == 8 && size_of::<Granule>() == 4 * WORD);
const _: () = assert!(shadow_stack::SITES.is_power_of_two() && size_of::<KnownSite>() == 3 * 8);

/// Defines the functions for accesses of each size up to a word.
macro_rules! accesses {
    ($($($name:ident)*, $anew:ident, $inner:ident: $writes:literal, $size:literal, $index:ident, $thread:ident;)*) => {
        $(
            extern "C" fn $inner(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
            out_of_line! {
                fn $anew(address: usize) -> () as $inner("rsi");
            }
            $(
                #[cfg_attr(not(test), unsafe(no_mangle))]
                #[unsafe(naked)]
                extern "C" fn $name(address: usize) {
                    naked_asm!(
                        unless_recorded!(),
                        guest = sym crate::abi::guest::GUEST,
                        offset = sym shadow_stack::OFFSET,
                        last = const offset_of!(Calls, last),
                        is_inside = const offset_of!(Call, is_inside),
                        inside = sym sync::INSIDE,
                        mask = const sync::INSIDE.len() - 1,
                        now = sym shadow::NOW,
                        epoch = sym crate::host::mode::EPOCH,
                        size = const $size,
                        has_forgotten = const offset_of!(Now, has_forgotten),
                        // No value for reads, to which that does not matter.
                        not_forgotten = const if $writes { 0 } else { 2 },
                        end_of_stack = const offset_of!(Now, end_of_stack),
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
                        kind = const $size | if $writes { WRITES } else { 0 },
                        now_epoch = const offset_of!(Now, epoch),
                        recent = const offset_of!(Now, recent),
                        stamp = const offset_of!(Now, stamp),
                        now_index = const offset_of!(Now, index),
                        now_thread = const offset_of!(Now, thread),
                        meta = const offset_of!(Granule, meta),
                        write_index = const offset_of!(Granule, write_index),
                        write_thread = const offset_of!(Granule, write_thread),
                        index = const offset_of!(Granule, $index),
                        thread = const offset_of!(Granule, $thread),
                        anew = sym $anew,
                    )
                }
            )*
        )*
    };
}

/// Defines the functions for larger accesses.
macro_rules! large_accesses {
    ($($($name:ident)*, $inner:ident: $writes:literal, $size:literal;)*) => {
        $(
            extern "C" fn $inner(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
            on_alternate_stack! {
                $(fn $name(address: usize) -> () as $inner("rsi");)*
            }
        )*
    };
}

accesses! {
    __tsan_read1 __tsan_volatile_read1 __tsan_unaligned_volatile_read1,
        read1_anew, read1: false, 1, read_index, read_thread;
    __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2 __tsan_unaligned_volatile_read2,
        read2_anew, read2: false, 2, read_index, read_thread;
    __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4 __tsan_unaligned_volatile_read4,
        read4_anew, read4: false, 4, read_index, read_thread;
    __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8 __tsan_unaligned_volatile_read8
        __tsan_vptr_read,
        read8_anew, read8: false, 8, read_index, read_thread;
    __tsan_write1 __tsan_volatile_write1 __tsan_unaligned_volatile_write1 __tsan_read_write1,
        write1_anew, write1: true, 1, write_index, write_thread;
    __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2 __tsan_unaligned_volatile_write2
        __tsan_read_write2 __tsan_unaligned_read_write2,
        write2_anew, write2: true, 2, write_index, write_thread;
    __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4 __tsan_unaligned_volatile_write4
        __tsan_read_write4 __tsan_unaligned_read_write4,
        write4_anew, write4: true, 4, write_index, write_thread;
    __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8 __tsan_unaligned_volatile_write8
        __tsan_read_write8 __tsan_unaligned_read_write8,
        write8_anew, write8: true, 8, write_index, write_thread;
}

large_accesses! {
    __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16 __tsan_unaligned_volatile_read16,
        read16: false, 16;
    __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16
        __tsan_unaligned_volatile_write16 __tsan_read_write16 __tsan_unaligned_read_write16,
        write16: true, 16;
}

on_alternate_stack! {
    fn __tsan_read_range(address: usize, size: usize) -> () as read_range("rdx");
    fn __tsan_write_range(address: usize, size: usize) -> () as write_range("rdx");
    fn __tsan_vptr_update(address: GuestPtr<usize>, new: usize) -> () as update_vptr("rdx");
}

extern "C" fn read_range(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

extern "C" fn write_range(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// Records the store of an object's class by a constructor or destructor. A store of the same value
/// is not a write.
extern "C" fn update_vptr(address: GuestPtr<usize>, new: usize, code: usize) {
    let is_write = address.read() != new;
    access_range(address.address(), size_of::<usize>(), is_write, code);
}

/// Defines accesses with their address of code as an argument.
macro_rules! placed {
    ($($name:ident: $writes:literal, $size:literal;)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            extern "C" fn $name(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
        )*
    };
}

placed! {
    __tsan_read1_pc: false, 1;
    __tsan_read2_pc: false, 2;
    __tsan_read4_pc: false, 4;
    __tsan_read8_pc: false, 8;
    __tsan_read16_pc: false, 16;
    __tsan_write1_pc: true, 1;
    __tsan_write2_pc: true, 2;
    __tsan_write4_pc: true, 4;
    __tsan_write8_pc: true, 8;
    __tsan_write16_pc: true, 16;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_read_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_write_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// Records a call that reads state of a library, which the address represents.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_external_read(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, false, code);
}

/// Records a call that writes state of a library, which the address represents.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_external_write(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, true, code);
}
