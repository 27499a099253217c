//! Functions that know who calls them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where the stack of the guest that has called last begins, with its registers.
pub(crate) static TOP: AtomicUsize = AtomicUsize::new(0);

/// So far down are functions that are [`distant!`].
pub(crate) const GAP: usize = 2048;

/// Where the stack of the calling guest begins, if it came by [`watched!`] and nobody has run since.
pub(crate) fn top() -> usize {
    TOP.load(Relaxed)
}

/// Does something that others may run in, after which the stack of the calling guest begins where it did.
pub(crate) fn keeping_top<R>(work: impl FnOnce() -> R) -> R {
    let top = TOP.load(Relaxed);
    let result = work();
    TOP.store(top, Relaxed);
    result
}

/// Defines functions that the program calls by these names. Each hands its arguments on to the
/// function behind `as`, together with the address that it will return to, in the register after
/// theirs: that is where in the program the call is.
macro_rules! entry {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    "jmp {to}",
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`entry!`], for functions that leave behind on the stack what is another thing each time, such as the
/// thread's clock. They run further down, out of the reach of most calls: what is left in a part of the stack
/// that the next call does not write would make every turn of a loop that waits look like a new one.
macro_rules! distant {
    ($(fn $name:ident($($argument:ident: $type:ty),*) as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    // The stack is aligned then.
                    "sub rsp, {gap} + 8",
                    "call {to}",
                    "add rsp, {gap} + 8",
                    // Compilers push any register to align the stack.
                    "xor eax, eax",
                    "xor ecx, ecx",
                    "xor edx, edx",
                    "xor esi, esi",
                    "xor edi, edi",
                    "xor r8d, r8d",
                    "xor r9d, r9d",
                    "xor r10d, r10d",
                    "xor r11d, r11d",
                    "ret",
                    gap = const $crate::trampoline::GAP,
                    to = sym $to,
                )
            }
        )*
    };
}

/// As [`entry!`], for functions that a loop may call again and again while it waits: the registers that
/// outlast a call are put on the stack, where they can be compared, and [`top`] tells where that is.
macro_rules! watched {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal);)*) => {
        $(
            const _: extern "C" fn($($type,)* usize) -> $result = $to;

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name($($argument: $type),*) -> $result {
                std::arch::naked_asm!(
                    concat!("mov ", $register, ", [rsp]"),
                    "push rbx",
                    "push rbp",
                    "push r12",
                    "push r13",
                    "push r14",
                    "push r15",
                    // The stack is aligned then.
                    "push 0",
                    // Only what guests have is of interest; other threads must not disturb it.
                    "mov rax, fs:[0x10]",
                    "cmp rax, [rip + {guest}]",
                    "jne 2f",
                    "mov [rip + {top}], rsp",
                    "2:",
                    "call {to}",
                    "add rsp, 56",
                    "ret",
                    guest = sym $crate::mode::GUEST,
                    top = sym $crate::trampoline::TOP,
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
                    $crate::real::function(&FOUND, NAME)
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
                        guest = sym $crate::mode::GUEST,
                        top = sym $crate::trampoline::TOP,
                        to = sym $to,
                        real = sym real,
                    )
                }
            };
        )*
    };
}

/// As [`watched!`], for functions in which a thread may end: if it is to ([`crate::unwind`]), the program is
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
                    "push rbx",
                    "push rbp",
                    "push r12",
                    "push r13",
                    "push r14",
                    "push r15",
                    // The same address again, for functions that have no register left for it; and the
                    // stack is aligned then.
                    "push [rsp + 48]",
                    // Only what guests have is of interest; other threads must not disturb it.
                    "mov rax, fs:[0x10]",
                    "cmp rax, [rip + {guest}]",
                    "jne 2f",
                    "mov [rip + {top}], rsp",
                    "2:",
                    "call {to}",
                    "add rsp, 56",
                    "cmp byte ptr [rip + {is_asked}], 0",
                    "jne {unwind}",
                    "ret",
                    is_asked = sym $crate::unwind::IS_ASKED,
                    unwind = sym $crate::unwind::unwind,
                    guest = sym $crate::mode::GUEST,
                    top = sym $crate::trampoline::TOP,
                    to = sym $to,
                )
            }
        )*
    };
}

pub(crate) use {departing, distant, entry, replace, watched};

/// In guest mode, first thing in a function behind [`replace!`]: where in the program the call is.
pub(crate) fn caller() -> usize {
    // SAFETY: the stack of the calling guest begins with the address that it goes on at.
    let code = unsafe { (top() as *const usize).read() };
    crate::tsan::calls::users(code)
}
