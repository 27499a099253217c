//! Roles of registers in the calling convention (System V ABI for x86-64), as instructions that
//! save and restore them. All assembly of this crate takes its lists from here.

/// Number of registers that a call preserves, besides the stack pointer.
pub(crate) const PRESERVED: usize = 6;

/// Instructions that save the registers that a call preserves; `rbx` is on top of the stack then.
macro_rules! save_preserved {
    () => {
        "push rbp\npush r12\npush r13\npush r14\npush r15\npush rbx\n"
    };
}

/// Instructions that undo [`save_preserved!`].
macro_rules! restore_preserved {
    () => {
        "pop rbx\npop r15\npop r14\npop r13\npop r12\npop rbp\n"
    };
}

/// Instructions that save the registers of arguments. The stack is aligned afterwards if it was
/// when the function was called.
macro_rules! save_arguments {
    () => {
        "push rdi\npush rsi\npush rdx\npush rcx\npush r8\npush r9\npush 0\n"
    };
}

/// Instructions that undo [`save_arguments!`].
macro_rules! restore_arguments {
    () => {
        "add rsp, 8\npop r9\npop r8\npop rcx\npop rdx\npop rsi\npop rdi\n"
    };
}

/// Instructions that clear the registers in which a call may leave any value, because compilers
/// push any register to align the stack. `first` and `second` are the masks of the result's bytes
/// in `rax` and `rdx`.
macro_rules! clear_scratch {
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

/// Instructions that return from a function without result, with the same registers cleared.
macro_rules! return_cleared {
    () => {
        concat!(
            "xor eax, eax\n",
            "xor ecx, ecx\n",
            "xor edx, edx\n",
            "xor esi, esi\n",
            "xor edi, edi\n",
            "xor r8d, r8d\n",
            "xor r9d, r9d\n",
            "xor r10d, r10d\n",
            "xor r11d, r11d\n",
            "ret\n",
        )
    };
}

/// Instructions that jump to a label unless the caller is the running guest. `rax` is clobbered.
macro_rules! unless_guest {
    ($label:literal) => {
        concat!(
            "mov rax, fs:[0x10]\n",
            "cmp rax, [rip + {guest}]\n",
            "jne ",
            $label,
            "\n",
        )
    };
}

pub(crate) use {
    clear_scratch, restore_arguments, restore_preserved, return_cleared, save_arguments,
    save_preserved, unless_guest,
};
