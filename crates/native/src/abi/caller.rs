//! Stack and registers of the guest that called last, at its call.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::engine::Top;

/// Stack pointer of the guest that has called last, at its return address.
pub(crate) static STACK: AtomicUsize = AtomicUsize::new(0);
/// Address of that guest's saved registers, those that a call preserves; 0 if unknown.
pub(crate) static REGISTERS: AtomicUsize = AtomicUsize::new(0);

/// Returns the calling guest's stack pointer and the address of its registers. They are valid if it
/// called through [`watched!`](super::trampoline::watched) and no other guest has run since.
pub(crate) fn top() -> Top {
    Top {
        stack: STACK.load(Relaxed),
        registers: REGISTERS.load(Relaxed),
    }
}

/// Sets the stack pointer of a guest that has called in another way; its registers are unknown.
pub(crate) fn set_top(stack: usize) {
    STACK.store(stack, Relaxed);
    REGISTERS.store(0, Relaxed);
}

/// Calls `work`, during which other guests may run, and restores the calling guest's [`top`].
pub(crate) fn keeping_top<R>(work: impl FnOnce() -> R) -> R {
    let top = top();
    let result = work();
    STACK.store(top.stack, Relaxed);
    REGISTERS.store(top.registers, Relaxed);
    result
}

/// In guest mode, called first in a function behind [`replace!`](super::trampoline::replace):
/// returns the return address of the call.
pub(crate) fn code() -> usize {
    // SAFETY: the word is mapped: the trampoline has stored the stack pointer of a guest that has just
    // called, whose stack begins with the return address.
    unsafe { (top().stack as *const usize).read() }
}
