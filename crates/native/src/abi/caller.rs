//! Where the guest that has called last goes on: its stack and registers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::engine::Top;

/// Stack pointer of the guest that has called last, at its return address.
pub(crate) static STACK: AtomicUsize = AtomicUsize::new(0);
/// Address of its saved registers, those that a call preserves; 0 if they are not known.
pub(crate) static REGISTERS: AtomicUsize = AtomicUsize::new(0);

/// Returns where the stack of the calling guest begins and where its registers are, if it came by
/// [`watched!`](super::trampoline::watched) and nothing else has run since.
pub(crate) fn top() -> Top {
    Top {
        stack: STACK.load(Relaxed),
        registers: REGISTERS.load(Relaxed),
    }
}

/// A guest has come in another way, and its registers are not known.
pub(crate) fn set_top(stack: usize) {
    STACK.store(stack, Relaxed);
    REGISTERS.store(0, Relaxed);
}

/// Does something that others may run in, after which the stack of the calling guest begins where it did.
pub(crate) fn keeping_top<R>(work: impl FnOnce() -> R) -> R {
    let top = top();
    let result = work();
    STACK.store(top.stack, Relaxed);
    REGISTERS.store(top.registers, Relaxed);
    result
}

/// In guest mode, first thing in a function behind [`replace!`](super::trampoline::replace): returns the
/// address that the call returns to.
pub(crate) fn code() -> usize {
    // SAFETY: the word is mapped: the trampoline has stored the stack pointer of a guest that has just
    // called, whose stack begins with the return address.
    unsafe { (top().stack as *const usize).read() }
}
