//! Stacks: calls that can be left, and switches to another stack.
//!
//! All functions here save and restore the same [registers](super::registers), those that a call preserves.

use std::arch::naked_asm;

use super::registers::{PRESERVED, restore_preserved, save_preserved};

/// Size of the stack of each thread of the program, in bytes; the kernel provides only the pages that are used.
pub(crate) const STACK: usize = 8 << 20;

/// A call that can be left: the stack pointer when it was entered.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct Frame(usize);

impl Frame {
    pub(crate) const fn new() -> Self {
        Frame(0)
    }

    /// Returns the end of the guest's part of the stack.
    pub(crate) fn stack(self) -> usize {
        self.0
    }
}

/// Calls `function(argument)`, after storing in `frame` the stack pointer at which the call can be
/// left.
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

/// Continues where [`call`] returns, with this result.
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

/// Continues where another stack was left, with this result of the `swap` there.
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

/// Prepares the stack that ends at `end` so that [`swap`] begins the function on it.
///
/// # Safety
///
/// The stack must be new, zeroed and large enough.
pub(crate) unsafe fn first_frame(end: usize, function: extern "C" fn() -> !) -> usize {
    // As if the function had been called with no caller.
    let start = end - (PRESERVED + 2) * size_of::<usize>();
    // SAFETY: the words are on the stack, which is large enough, as the caller promises.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Size of the stacks here, in bytes; an unoptimised build needs a few pages.
    const SMALL: usize = 256 << 10;

    fn stack() -> (Vec<u128>, usize) {
        let memory = vec![0u128; SMALL / 16];
        let end = memory.as_ptr_range().end as usize;
        (memory, end)
    }

    extern "C" fn twice(number: usize) -> usize {
        number * 2
    }

    #[test]
    fn a_call_returns_what_its_function_returns() {
        let mut frame = Frame::new();
        let function = twice as extern "C" fn(usize) -> usize as usize;
        // SAFETY: the function takes a number, and the frame outlives the call.
        assert_eq!(unsafe { call(function, 21, &mut frame) }, 42);
        let here = &raw const frame as usize;
        assert!(
            here.abs_diff(frame.stack()) < SMALL,
            "a frame of this stack"
        );
    }

    /// A call that is left from `depth` nested calls.
    struct Left {
        frame: Frame,
        depth: usize,
    }

    extern "C" fn descend(left: &mut Left) -> usize {
        match left.depth {
            // SAFETY: the frame is that of the call below, and nothing here is to be dropped.
            0 => unsafe { leave(left.frame, 7) },
            _ => {
                left.depth -= 1;
                descend(left) + 1
            }
        }
    }

    #[test]
    fn a_call_that_is_left_returns_the_given_result() {
        for depth in 0..5 {
            let mut left = Left {
                frame: Frame::new(),
                depth,
            };
            let function = descend as extern "C" fn(&mut Left) -> usize as usize;
            let pointer = &raw mut left;
            // SAFETY: the function takes such a value, which outlives the call.
            let result = unsafe { call(function, pointer as usize, &raw mut (*pointer).frame) };
            assert_eq!(result, 7);
        }
    }

    thread_local! {
        static STACKS: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
    }

    /// Swaps to the other stack with 1, 2, 3 and so on.
    extern "C" fn count_for_the_other() -> ! {
        for number in 1.. {
            let [other, _] = STACKS.get();
            let mut own = 0;
            // SAFETY: the other stack was left by `swap`; it saves this one before it needs it again.
            let received = unsafe { swap_saving(&mut own, other, number) };
            assert_eq!(received, number * 10);
        }
        unreachable!()
    }

    /// As [`swap`]: the stack that is left is in `STACKS` as well.
    unsafe fn swap_saving(own: &mut usize, to: usize, result: usize) -> usize {
        STACKS.with(|stacks| {
            let place = stacks.as_ptr().cast::<usize>();
            // SAFETY: the caller promises the requirements of `swap` on the stack, and the variable
            // for the old one outlives the call.
            unsafe {
                let place = place.add(1);
                let received = swap(place, to, result);
                *own = *place;
                received
            }
        })
    }

    #[test]
    fn stacks_are_resumed_where_they_were_left() {
        let (_memory, end) = stack();
        // SAFETY: the stack is new, zeroed and large enough.
        let mut other = unsafe { first_frame(end, count_for_the_other) };
        for number in 1..100 {
            // The values stay in callee-saved registers or on this stack, which the other must
            // leave alone.
            let before = [number, number + 1, number + 2, number + 3, number + 4];
            let received = STACKS.with(|stacks| {
                let place = stacks.as_ptr().cast::<usize>();
                // SAFETY: the other stack comes from `first_frame` or was left by `swap`.
                unsafe { swap(place, other, (number - 1) * 10) }
            });
            other = STACKS.get()[1];
            assert_eq!(received, number);
            let expected = std::hint::black_box(number);
            assert_eq!(
                before,
                [0, 1, 2, 3, 4].map(|offset| expected + offset),
                "registers of this stack"
            );
        }
    }

    unsafe extern "C" fn note_stack(to: *mut u8) {
        let here = 0u8;
        // SAFETY: the test passes the address of a number.
        unsafe { to.cast::<usize>().write(&raw const here as usize) };
    }

    #[test]
    fn a_function_runs_on_the_stack_that_it_is_given() {
        let (memory, end) = stack();
        let mut noted = 0usize;
        // SAFETY: the stack is large enough and unused, and the function takes the address of a number.
        unsafe { call_on(end, note_stack, (&raw mut noted).cast()) };
        assert!((memory.as_ptr() as usize..end).contains(&noted));
    }
}
