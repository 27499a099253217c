//! Entries and exits of the program's functions.
//!
//! There are dozens of them between two operations of a program, so the usual ones stay in assembly: a
//! call that the [call tree](crate::execution::call_tree) has, without effects beyond the thread's call
//! stack. Threads that are not controlled have no call stacks.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::abi::registers::return_cleared;
use crate::abi::trampoline::out_of_line;
use crate::execution::call_tree::{self, Call};
use crate::execution::shadow_stack::{self, Calls, Marks};
use crate::memory::unwritten;
use crate::rust;

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
extern "C" fn __tsan_func_entry(caller: usize) {
    naked_asm!(
        "mov rax, fs:[0x10]",
        "cmp rax, [rip + {guest}]",
        "jne 2f",
        "cmp byte ptr [rip + {are_wanted}], 0",
        "jne {enter}",
        "mov r11, [rip + {offset}]",
        "mov r10, fs:[r11 + {last}]",
        "mov rsi, [rsp]",
        // The slot, as `call_tree::slot` computes it.
        "lea rax, [r10 + r10 * 4]",
        "shr rax, 6",
        "xor rax, rdi",
        "and eax, {mask}",
        "lea rcx, [rip + {cache}]",
        "mov rax, [rcx + rax * 8]",
        "cmp [rax + {parent}], r10",
        "jne {enter}",
        "cmp [rax + {from}], rdi",
        "jne {enter}",
        "cmp [rax + {into}], rsi",
        "jne {enter}",
        "cmp byte ptr [rax + {is_loud}], 0",
        "jne {enter}",
        "mov fs:[r11 + {last}], rax",
        "2:",
        return_cleared!(),
        guest = sym crate::abi::guest::GUEST,
        are_wanted = sym shadow_stack::ARE_WANTED,
        offset = sym shadow_stack::OFFSET,
        last = const offset_of!(Calls, last),
        mask = const call_tree::SLOTS - 1,
        cache = sym call_tree::CACHE,
        parent = const offset_of!(Call, parent),
        from = const offset_of!(Call, from),
        into = const offset_of!(Call, into),
        is_loud = const offset_of!(Call, is_loud),
        enter = sym enter_anew,
    )
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "mov rax, fs:[0x10]",
        "cmp rax, [rip + {guest}]",
        "jne 2f",
        "cmp byte ptr [rip + {are_wanted}], 0",
        "jne {leave}",
        "mov r11, [rip + {offset}]",
        "mov rax, fs:[r11 + {last}]",
        "test rax, rax",
        "je 3f",
        "cmp byte ptr [rax + {is_quiet}], 0",
        "je 3f",
        "cmp dword ptr fs:[r11 + {unrecorded}], 0",
        "jne {leave}",
        "4:",
        "mov rax, [rax + {parent}]",
        "mov fs:[r11 + {last}], rax",
        "2:",
        return_cleared!(),
        "3:",
        "cmp qword ptr fs:[r11 + {marks}], 0",
        "jne {leave}",
        "test rax, rax",
        "je 2b",
        "cmp byte ptr [rax + {is_kept}], 0",
        "je {leave}",
        "jmp 4b",
        guest = sym crate::abi::guest::GUEST,
        are_wanted = sym shadow_stack::ARE_WANTED,
        offset = sym shadow_stack::OFFSET,
        is_quiet = const offset_of!(Call, is_quiet),
        unrecorded = const offset_of!(Calls, marks) + offset_of!(Marks, unrecorded),
        marks = const offset_of!(Calls, marks),
        last = const offset_of!(Calls, last),
        is_kept = const offset_of!(Call, is_kept),
        parent = const offset_of!(Call, parent),
        leave = sym leave_anew,
    )
}

out_of_line! {
    fn enter_anew(caller: usize) -> () as enter("rsi");
    fn leave_anew() -> () as leave("rdi");
}

extern "C" fn enter(caller: usize, code: usize) {
    if let Some(entered) = shadow_stack::push(caller, code) {
        if unwritten::is_on() {
            unwritten::fill_stack();
        }
        rust::enter(entered);
    }
}

extern "C" fn leave(_code: usize) {
    shadow_stack::pop();
}
