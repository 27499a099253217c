//! The running code: thread pointers distinguish the program's threads.
//!
//! The thread pointer is the base of `fs`, by which thread-local storage is addressed. The C
//! library also stores it in the block itself, at offset 0x10.

use std::arch::asm;
use std::sync::atomic::AtomicUsize;

/// Thread pointer of the running guest; 0 while the host runs.
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
