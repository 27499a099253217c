//! Entries and exits of the program's functions.
//!
//! There are dozens of them between two operations of a program, so the usual ones stay in assembly: a
//! call that the [call tree](crate::execution::call_tree) has, without effects beyond the thread's call
//! stack. Threads that are not controlled have no call stacks.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::abi::alternate_stack;
use crate::abi::registers::{restore_preserved, return_cleared, save_preserved};
use crate::abi::trampoline::out_of_line;
use crate::execution::call_tree::{self, Call};
use crate::execution::shadow_stack::{self, Calls, Marks};
use crate::host::mode;
use crate::io::opened;
use crate::memory::unwritten;
use crate::process::{random, rust_panics};
use crate::pthread::keys;
use crate::rust;
use crate::threads::beginning;

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
        "cmp byte ptr [rax + {is_usual}], 0",
        "je {leave}",
        "jmp 4b",
        guest = sym crate::abi::guest::GUEST,
        are_wanted = sym shadow_stack::ARE_WANTED,
        offset = sym shadow_stack::OFFSET,
        is_quiet = const offset_of!(Call, is_quiet),
        unrecorded = const offset_of!(Calls, marks) + offset_of!(Marks, unrecorded),
        marks = const offset_of!(Calls, marks),
        last = const offset_of!(Calls, last),
        is_usual = const offset_of!(Call, is_usual),
        parent = const offset_of!(Call, parent),
        leave = sym leave_anew,
    )
}

/// Records an entry that is not left to assembly. That of the first function of a test may be where executions begin:
/// a thread that [continues](beginning) there continues behind the call.
#[cold]
#[unsafe(naked)]
extern "C" fn enter_anew(caller: usize) {
    naked_asm!(
        "test byte ptr [rip + {are_wanted}], {the_first}",
        "je {enter}",
        "push rdi",
        save_preserved!(),
        "call {save}",
        restore_preserved!(),
        "pop rdi",
        "jmp {enter_first}",
        are_wanted = sym shadow_stack::ARE_WANTED,
        the_first = const shadow_stack::THE_FIRST,
        save = sym save_before,
        enter = sym enter_recorded,
        enter_first = sym enter_first_recorded,
    )
}

out_of_line! {
    fn save_before(caller: usize) -> () as save("rsi");
    fn enter_recorded(caller: usize) -> () as enter("rsi");
    fn enter_first_recorded(caller: usize) -> () as enter_first("rsi");
    fn leave_anew() -> () as leave("rdi");
}

extern "C" fn save(caller: usize, _code: usize) {
    // A handler of a signal runs on the alternate stack.
    if shadow_stack::is_outside() && !alternate_stack::is_nested() {
        let is_unchanged = || random::are_unused() && opened::are_unused();
        let is_test = rust_panics::is_call_of_test(caller);
        let stack = alternate_stack::program_stack();
        if beginning::save((caller, is_test), stack, is_unchanged) {
            mode::host(keys::keep);
        }
    }
}

extern "C" fn enter(caller: usize, code: usize) {
    if let Some(entered) = shadow_stack::push(caller, code) {
        if unwritten::is_on() {
            unwritten::fill_stack();
        }
        rust::enter(entered);
    }
}

extern "C" fn enter_first(caller: usize, code: usize) {
    enter(caller, code);
    shadow_stack::report_exit();
}

extern "C" fn leave(_code: usize) {
    if shadow_stack::pop() {
        beginning::left(rust_panics::has_begun());
    }
}
