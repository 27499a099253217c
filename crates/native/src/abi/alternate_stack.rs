//! The part of each guest's stack that raddle's code runs on.
//!
//! A loop that waits is recognised by the bytes on the stack of its thread. The bytes that raddle
//! leaves there differ each time, and a later call may reach over them without writing them all. So
//! raddle's functions run on an *alternate stack*: the [`SIZE`] bytes at the far end of the
//! thread's stack, which the program does not reach. A program with an infinite recursion does
//! reach it, and raddle then works below it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::stack::STACK;

/// Size of the alternate stack, in bytes.
pub(crate) const SIZE: usize = 512 << 10;
const PAGE: usize = 4096;
/// Bit of [`START`] that is set while the program itself runs on the alternate stack, as in a
/// signal handler.
const IS_NESTED: usize = 1;

/// Start of the running guest's alternate stack; stacks grow down.
pub(crate) static START: AtomicUsize = AtomicUsize::new(0);

/// Returns the start of the alternate stack in a stack of `size` bytes that ends at `end`.
pub(crate) fn of(end: usize, size: usize) -> usize {
    (end - size + SIZE) & !(PAGE - 1)
}

/// Sets the alternate stack of the guest that runs from now on.
#[inline(always)]
pub(crate) fn set(start: usize) {
    START.store(start, Relaxed);
}

/// Returns the start of the running guest's alternate stack.
#[inline(always)]
pub(crate) fn get() -> usize {
    START.load(Relaxed)
}

/// Marks the start of an alternate stack as one that its guest itself runs on.
pub(crate) fn nested(start: usize) -> usize {
    start | IS_NESTED
}

/// In guest mode: true if the guest runs on its alternate stack itself.
pub(crate) fn is_nested() -> bool {
    get() & IS_NESTED != 0
}

/// In guest mode: returns the start of the used part of the guest's stack, for a stack pointer
/// `here`.
pub(crate) fn program_stack_from(here: usize) -> usize {
    let start = get();
    // A stack pointer further down comes from an infinite recursion.
    let is_on_alternate = start & IS_NESTED == 0 && start.wrapping_sub(here) < SIZE / 2;
    if is_on_alternate {
        // SAFETY: the word is mapped: it is the first of the alternate stack, where the switch to it pushes
        // the stack pointer.
        let stack = unsafe { ((start - 8) as *const usize).read() };
        // If the program itself runs there, the word may have any value.
        if (start..start + STACK).contains(&stack) {
            return stack;
        }
    }
    here
}

/// In guest mode: returns [`program_stack_from`] the caller's stack pointer.
#[inline(always)]
pub(crate) fn program_stack() -> usize {
    let here = 0u8;
    program_stack_from((&raw const here) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    #[test]
    fn it_is_at_the_far_end_of_the_stack_and_begins_at_a_page() {
        let mut inputs = Inputs::new(1);
        for _ in 0..10_000 {
            let end = (inputs.below(1 << 46) as usize + (64 << 20)) & !15;
            let size = STACK - inputs.below(4096) as usize;
            let start = of(end, size);
            assert_eq!(start % PAGE, 0);
            // The alternate stack grows down, and its last byte is still in the stack.
            assert!(start - SIZE + PAGE > end - size, "{end:#x} {size:#x}");
            assert!(start <= end - size + SIZE, "no more than it needs");
        }
    }

    #[test]
    fn stacks_of_nested_code_are_told_apart_from_those_that_are_not() {
        let start = of(64 << 20, STACK);
        assert_ne!(nested(start), start);
        assert_eq!(nested(start) & !IS_NESTED, start);
    }
}
