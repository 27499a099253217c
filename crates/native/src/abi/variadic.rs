//! Functions whose number of arguments is known only at the call.

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
        // An odd number of words on the stack needs one more for alignment.
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

#[cfg(test)]
mod tests {
    use std::arch::naked_asm;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    static RECEIVED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    /// Receives the maximum number of arguments of these tests. Those that the call does not have
    /// are unspecified stack contents.
    extern "C" fn receive(
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        g: usize,
        h: usize,
        i: usize,
        j: usize,
    ) {
        *RECEIVED.lock().unwrap() = vec![a, b, c, d, e, f, g, h, i, j];
    }

    static STACK: AtomicUsize = AtomicUsize::new(0);

    /// Stores its stack pointer.
    #[unsafe(naked)]
    unsafe extern "C" fn store_stack() {
        naked_asm!("mov [rip + {stack}], rsp", "ret", stack = sym STACK)
    }

    #[test]
    fn arguments_are_passed_in_registers_and_on_the_stack() {
        let list: Vec<usize> = (100..108).collect();
        for count in 0..=list.len() {
            let function = receive as *const () as usize;
            // SAFETY: the function has room for more arguments than it gets, and the list has at least four.
            unsafe { invoke(function, 1, 2, list.as_ptr(), count) };
            let received = RECEIVED.lock().unwrap();
            assert_eq!(received[..2], [1, 2]);
            assert_eq!(received[2..2 + count], list[..count]);
        }
    }

    #[test]
    fn the_stack_is_aligned_for_any_number_of_arguments() {
        let list = [0usize; 12];
        for count in 0..=list.len() {
            let function = store_stack as *const () as usize;
            // SAFETY: the function uses no arguments.
            unsafe { invoke(function, 0, 0, list.as_ptr(), count) };
            // The return address comes after the alignment.
            assert_eq!((STACK.load(Relaxed) + 8) % 16, 0, "{count} arguments");
        }
    }
}
