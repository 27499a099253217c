//! Stacks: calls that can be left, and going on where another stack was left.
//!
//! All functions here save and restore the same registers, those that a call must preserve.

use std::arch::naked_asm;

/// Size of the stack of each thread of the program, in bytes; the kernel provides only the pages that are used.
pub(crate) const STACK: usize = 8 << 20;

/// Number of registers that a call preserves, besides the stack pointer.
pub(crate) const PRESERVED: usize = 6;

/// Instructions that save the registers that a call preserves.
macro_rules! save_preserved {
    () => {
        "push rbp\npush rbx\npush r12\npush r13\npush r14\npush r15\n"
    };
}

/// Instructions that undo [`save_preserved!`].
macro_rules! restore_preserved {
    () => {
        "pop r15\npop r14\npop r13\npop r12\npop rbx\npop rbp\n"
    };
}

/// Where a guest can be left: its stack pointer when it was entered.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct Frame(usize);

impl Frame {
    pub(crate) const fn new() -> Self {
        Frame(0)
    }

    /// Where the guest's part of the stack ends.
    pub(crate) fn stack(self) -> usize {
        self.0
    }
}

/// Calls `function(argument)`, and says before where on the stack it can be left.
///
/// # Safety
///
/// The function must take such an argument, and there must be room for the frame.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call(function: usize, argument: usize, frame: *mut Frame) -> usize {
    naked_asm!(
        save_preserved!(),
        "sub rsp, 8",
        "mov [rdx], rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "add rsp, 8",
        restore_preserved!(),
        "ret",
    )
}

/// Goes on where [`call`] returns, with this result.
///
/// # Safety
///
/// The frame must be that of a `call` that the calling thread is in, and nothing between there and
/// here may need to be dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave(frame: Frame, result: usize) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "mov rax, rsi",
        "add rsp, 8",
        restore_preserved!(),
        "ret",
    )
}

/// Goes on where another stack was left, with this result of the `swap` there.
///
/// # Safety
///
/// The stack must have been left by this function, or come from [`first_frame`], and `from` must be writable.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn swap(from: *mut usize, to: usize, result: usize) -> usize {
    naked_asm!(
        save_preserved!(),
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "mov rax, rdx",
        restore_preserved!(),
        "ret",
    )
}

/// Prepares a stack that ends there so that [`swap`] begins the function on it.
///
/// # Safety
///
/// The stack must be new, zeroed and large enough.
pub(crate) unsafe fn first_frame(end: usize, function: extern "C" fn() -> !) -> usize {
    // As if the function had been called with no caller.
    let start = end - (PRESERVED + 2) * size_of::<usize>();
    // SAFETY: vouched for by the caller.
    unsafe {
        (start as *mut usize)
            .add(PRESERVED)
            .write(function as *const () as usize);
    }
    start
}

/// Calls a function on another stack.
///
/// # Safety
///
/// The stack must end there, be large enough and unused, and the function must take such an argument.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_on(
    stack: usize,
    function: unsafe extern "C" fn(*mut u8),
    argument: *mut u8,
) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}
