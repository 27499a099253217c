//! Functions with a number of arguments that only the call knows.

use std::arch::naked_asm;

/// Calls a function with two arguments and `count` more: the first six are in registers, the others on the
/// stack.
///
/// # Safety
///
/// The function must take that many arguments. At least four can be read from the list.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn invoke(
    function: usize,
    first: usize,
    second: usize,
    arguments: *const usize,
    count: usize,
) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rax, rdi",
        "mov r10, rcx",
        "cmp r8, 4",
        "jle 4f",
        // The stack is to be aligned with an odd number of them, too.
        "test r8b, 1",
        "jz 3f",
        "push 0",
        "3:",
        "push qword ptr [r10 + r8*8 - 8]",
        "dec r8",
        "cmp r8, 4",
        "jg 3b",
        "4:",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, [r10]",
        "mov rcx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        "call rax",
        "leave",
        "ret",
    )
}

/// Number of the arguments after the third that are in registers.
pub(crate) const IN_REGISTERS: usize = 3;

/// Defines a function of three arguments and any number more. The function behind `as` gets the three and a
/// pointer to the rest: [`IN_REGISTERS`] of them, the return address, and those on the stack.
macro_rules! variadic {
    (fn $name:ident($($type:ty),*) as $to:ident;) => {
        const _: extern "C" fn($($type,)* $crate::abi::guest_ptr::GuestPtr<usize>) = $to;

        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "mov rcx, rsp",
                "call {to}",
                "add rsp, 24",
                "ret",
                to = sym $to,
            )
        }
    };
}

pub(crate) use variadic;
