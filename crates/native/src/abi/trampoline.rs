//! Functions that know who calls them, and leave nothing on the stack of who does.
//!
//! A loop that waits is known by the bytes on the stack of its thread. What raddle leaves there is another
//! thing each time, and a later call may reach over it without writing all of it. So what is called here
//! works *aside*: on a part of the thread's stack that the program does not come to, the [`REGION`] at its
//! far end. A program that does come there, by a recursion without end, finds raddle working below it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::check;
use crate::engine::Top;

/// Where the stack of the guest that has called last begins: with the address that it goes on at.
pub(crate) static TOP: AtomicUsize = AtomicUsize::new(0);
/// Where its registers are that outlast a call.
pub(crate) static REGISTERS: AtomicUsize = AtomicUsize::new(0);

/// So much of each stack is raddle's.
pub(crate) const REGION: usize = 512 << 10;
const PAGE: usize = 4096;
/// That the program runs aside, on behalf of what it does already: a bit of [`ASIDE`].
const IS_BETWEEN: usize = 1;

/// Where the part of the running guest's stack begins that is raddle's; stacks grow down.
pub(crate) static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// That of a stack of this size which ends there.
pub(crate) fn own_part_of(end: usize, size: usize) -> usize {
    (end - size + REGION) & !(PAGE - 1)
}

/// From now on the guest with that part runs.
#[inline(always)]
pub(crate) fn set_own_part(aside: usize) {
    ASIDE.store(aside, Relaxed);
}

/// The part of the guest that runs.
#[inline(always)]
pub(crate) fn own_part() -> usize {
    ASIDE.load(Relaxed)
}

/// The same, for what the program does in between.
pub(crate) fn between(aside: usize) -> usize {
    aside | IS_BETWEEN
}

/// In guest mode: where the part of the calling guest's stack begins that is in use, seen from there.
pub(crate) fn stack_from(here: usize) -> usize {
    let aside = own_part();
    // Who is further down has come there by a recursion without end.
    let is_aside = aside & IS_BETWEEN == 0 && aside.wrapping_sub(here) < REGION / 2;
    if is_aside {
        // SAFETY: whoever steps aside puts it there first.
        let stack = unsafe { ((aside - 8) as *const usize).read() };
        // If the program is there itself, that may be anything.
        if (aside..aside + check::STACK).contains(&stack) {
            return stack;
        }
    }
    here
}

/// The same, seen from the caller.
#[inline(always)]
pub(crate) fn stack() -> usize {
    let here = 0u8;
    stack_from((&raw const here) as usize)
}

/// Where the stack of the calling guest begins and where its registers are, if it came by [`watched!`] and
/// nobody has run since.
pub(crate) fn top() -> Top {
    Top {
        stack: TOP.load(Relaxed),
        registers: REGISTERS.load(Relaxed),
    }
}

/// A guest has come in another way, and nobody knows its registers.
pub(crate) fn set_top(stack: usize) {
    TOP.store(stack, Relaxed);
    REGISTERS.store(0, Relaxed);
}

/// Does something that others may run in, after which the stack of the calling guest begins where it did.
pub(crate) fn keeping_top<R>(work: impl FnOnce() -> R) -> R {
    let top = top();
    let result = work();
    TOP.store(top.stack, Relaxed);
    REGISTERS.store(top.registers, Relaxed);
    result
}

/// Defines functions that the program calls by these names. Each hands its arguments on to the
/// function behind `as`, together with the address that it will return to, in the register after
/// theirs: that is where in the program the call is. They are for what does not come back.
macro_rules! entry {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> ! as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> ! = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> ! {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    "jmp {to}",
                    to = sym $to,
                )
            }
        )*
    };
}

/// Instructions that step aside if a guest calls that is not there already. Where it was is in `r11` then,
/// and the stack is aligned. `rax` and `r10` are used. With texts: what is done if it is a guest, before and
/// after.
macro_rules! step_aside {
    () => {
        $crate::abi::trampoline::step_aside!("", "")
    };
    ($before:literal, $after:literal) => {
        concat!(
            "mov r11, rsp\n",
            // Only guests have such a part; other threads must not disturb it.
            "mov rax, fs:[0x10]\n",
            "cmp rax, [rip + {guest}]\n",
            "jne 4f\n",
            $before,
            "mov rax, [rip + {aside}]\n",
            "mov r10, rax\n",
            "sub r10, rsp\n",
            "cmp r10, {region}\n",
            "jb 3f\n",
            "mov rsp, rax\n",
            "and rsp, -16\n",
            "push r11\n",
            "3:\n",
            "and rsp, -16\n",
            $after,
            "4:\n",
            "and rsp, -16\n",
        )
    };
}

/// Instructions that step aside and put the registers there that outlast a call, where they can be compared;
/// [`top`] tells where that is, and where the stack of the guest begins. That is in `rbx` then.
macro_rules! watch {
    () => {
        concat!(
            $crate::abi::trampoline::step_aside!(
                "mov [rip + {top}], rsp\n",
                "lea rax, [rsp - 48]\nmov [rip + {registers}], rax\n"
            ),
            "push rbp\n",
            "push r12\n",
            "push r13\n",
            "push r14\n",
            "push r15\n",
            "push rbx\n",
            "mov rbx, r11\n",
        )
    };
}

/// Instructions that go back to the stack of who called, after [`watch!`] and as many words more.
macro_rules! go_back {
    () => {
        $crate::abi::trampoline::go_back!("0")
    };
    ($words:literal) => {
        concat!(
            "mov r11, rbx\n",
            concat!("mov rbx, [rsp + 8 * ", $words, "]\n"),
            "mov rsp, r11\n",
            $crate::abi::trampoline::clear!()
        )
    };
}

/// Instructions that clear the registers in which a call may leave anything, but for its result: compilers
/// push any register to align the stack.
macro_rules! clear {
    () => {
        concat!(
            "movabs r11, {first}\n",
            "and rax, r11\n",
            "movabs r11, {second}\n",
            "and rdx, r11\n",
            "xor ecx, ecx\n",
            "xor esi, esi\n",
            "xor edi, edi\n",
            "xor r8d, r8d\n",
            "xor r9d, r9d\n",
            "xor r10d, r10d\n",
            "xor r11d, r11d\n",
        )
    };
}

/// Defines functions that the program calls by these names, as [`entry!`] does; they work aside, and come
/// back.
macro_rules! aside {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    $crate::abi::trampoline::step_aside!(),
                    // The stack is aligned then.
                    "push r11",
                    "push r11",
                    "call {to}",
                    "pop rsp",
                    $crate::abi::trampoline::clear!(),
                    "ret",
                    guest = sym $crate::host::mode::GUEST,
                    aside = sym $crate::abi::trampoline::ASIDE,
                    region = const $crate::abi::trampoline::REGION,
                    first = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 0),
                    second = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 8),
                    to = sym $to,
                )
            }
        )*
    };
}

/// Which bits of a register mean something that has the bytes of a result of this size from that one on.
pub(crate) const fn kept(size: usize, from: usize) -> i64 {
    match size.saturating_sub(from) {
        bytes @ 0..8 => (1 << (8 * bytes)) - 1,
        _ => -1,
    }
}

/// As [`aside!`], for functions that a loop may call again and again while it waits: the registers that
/// outlast a call are put where they can be compared, and [`top`] tells where that is.
macro_rules! watched {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    $crate::abi::trampoline::watch!(),
                    "call {to}",
                    $crate::abi::trampoline::go_back!(),
                    "ret",
                    guest = sym $crate::host::mode::GUEST,
                    top = sym $crate::abi::trampoline::TOP,
                    registers = sym $crate::abi::trampoline::REGISTERS,
                    aside = sym $crate::abi::trampoline::ASIDE,
                    region = const $crate::abi::trampoline::REGION,
                    first = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 0),
                    second = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 8),
                    to = sym $to,
                )
            }
        )*
    };
}

/// Defines functions that guests find instead of those of a library; code that nobody controls finds the
/// library's. They have the arguments that they are called with, and [`caller`] tells by whom.
macro_rules! replace {
    ($($(#[$attribute:meta])* fn $name:ident as $to:path;)*) => {
        $(
            const _: () = {
                extern "C" fn real() -> usize {
                    static FOUND: std::sync::atomic::AtomicUsize =
                        std::sync::atomic::AtomicUsize::new(0);
                    const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                        concat!(stringify!($name), "\0").as_bytes(),
                    ) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    };
                    $crate::abi::real::function(&FOUND, NAME)
                }

                $(#[$attribute])*
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                extern "C" fn $name() {
                    std::arch::naked_asm!(
                        "mov rax, fs:[0x10]",
                        "cmp rax, [rip + {guest}]",
                        "jne 2f",
                        "mov [rip + {top}], rsp",
                        "mov qword ptr [rip + {registers}], 0",
                        "jmp {to}",
                        "2:",
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "push rcx",
                        "push r8",
                        "push r9",
                        // The stack is aligned then.
                        "push 0",
                        "call {real}",
                        "add rsp, 8",
                        "pop r9",
                        "pop r8",
                        "pop rcx",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        guest = sym $crate::host::mode::GUEST,
                        top = sym $crate::abi::trampoline::TOP,
                        registers = sym $crate::abi::trampoline::REGISTERS,
                        to = sym $to,
                        real = sym real,
                    )
                }
            };
        )*
    };
}

/// As [`watched!`], for functions in which a thread may end: if it is to ([`crate::threads::unwind`]), the program is
/// left where it called.
macro_rules! departing {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    $crate::abi::trampoline::watch!(),
                    // The same address again, for functions that have no register left for it; twice, so
                    // that the stack is aligned.
                    "push [rbx]",
                    "push [rbx]",
                    "call {to}",
                    $crate::abi::trampoline::go_back!("2"),
                    "cmp byte ptr [rip + {is_asked}], 0",
                    "jne {unwind}",
                    "ret",
                    is_asked = sym $crate::threads::unwind::IS_ASKED,
                    unwind = sym $crate::threads::unwind::unwind,
                    guest = sym $crate::host::mode::GUEST,
                    top = sym $crate::abi::trampoline::TOP,
                    registers = sym $crate::abi::trampoline::REGISTERS,
                    aside = sym $crate::abi::trampoline::ASIDE,
                    region = const $crate::abi::trampoline::REGION,
                    first = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 0),
                    second = const $crate::abi::trampoline::kept(std::mem::size_of::<$result>(), 8),
                    to = sym $to,
                )
            }
        )*
    };
}

pub(crate) use {aside, clear, departing, entry, go_back, replace, step_aside, watch, watched};

/// In guest mode, first thing in a function behind [`replace!`]: where in the program the call is.
pub(crate) fn caller() -> usize {
    // SAFETY: the stack of the calling guest begins with the address that it goes on at.
    let code = unsafe { (top().stack as *const usize).read() };
    crate::execution::shadow_stack::users(code)
}
