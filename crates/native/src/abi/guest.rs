//! Which code runs: thread pointers tell the program's threads apart.
//!
//! The thread pointer is the base of `fs`, which thread-local storage is addressed by. The C library keeps
//! it in the block itself as well, at offset 0x10.

use std::arch::asm;
use std::sync::atomic::AtomicUsize;

/// Thread pointer of the guest that runs; 0 while the host does.
pub(crate) static GUEST: AtomicUsize = AtomicUsize::new(0);

/// Returns the thread pointer of the caller.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the instruction only reads: the C library keeps the thread pointer itself there, in every
    // thread.
    unsafe { asm!("mov {}, fs:[0x10]", out(reg) pointer, options(nostack, preserves_flags)) };
    pointer
}
