//! Guest code on the stack of its coroutine, with the thread pointer changed: 17 ns a switch.

use std::arch::asm;
use std::sync::atomic::{AtomicBool, Ordering, Ordering::Relaxed, compiler_fence};

use super::Substrate;
use crate::abi::guest::{self, GUEST};
use crate::abi::stack::{self, Frame};
use crate::host::mode::{self, host_pointer, next_epoch};
use crate::host::tls;

/// The substrate with threads as coroutines.
pub(crate) struct Coroutines;

/// True if the thread pointer can be changed without a system call.
static IS_FAST: AtomicBool = AtomicBool::new(false);

/// Bit that the kernel sets if programs may use `wrfsbase`.
const HWCAP2_FSGSBASE: u64 = 1 << 1;
const ARCH_SET_FS: usize = 0x1002;

/// Reads the capabilities of the processor.
pub(super) fn prepare() {
    // SAFETY: `getauxval` has no precondition.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    IS_FAST.store(capabilities & HWCAP2_FSGSBASE != 0, Relaxed);
}

impl Substrate for Coroutines {
    fn create(number: usize) -> usize {
        tls::block(number)
    }

    #[inline(always)]
    unsafe fn run(
        (function, argument): (usize, usize),
        pointer: usize,
        frame: *mut Frame,
    ) -> usize {
        become_guest(pointer);
        // SAFETY: the function takes the argument, and there is room for the frame, as the caller promises.
        let result = unsafe { stack::call(function, argument, frame) };
        leave_guest();
        compiler_fence(Ordering::SeqCst);
        result
    }

    #[inline(always)]
    fn host<R>(work: impl FnOnce() -> R) -> R {
        let guest = GUEST.load(Relaxed);
        let shares_errno = guest == host_pointer();
        let before = if shares_errno { mode::errno() } else { 0 };
        become_host();
        let result = apart(work);
        become_guest(guest);
        if shares_errno {
            mode::set_errno(before);
        }
        result
    }

    fn end_execution() {}
}

#[inline(always)]
fn set_thread_pointer(pointer: usize) {
    // SAFETY: the caller has a block of thread-local storage there. Code before and after the
    // change is in different functions, none of which keeps an address in the other's block.
    unsafe {
        if IS_FAST.load(Relaxed) {
            asm!("wrfsbase {}", in(reg) pointer, options(nostack, preserves_flags));
        } else {
            asm!(
                "syscall",
                inlateout("rax") libc::SYS_arch_prctl => _,
                in("rdi") ARCH_SET_FS,
                in("rsi") pointer,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
    }
}

/// Calls `work`. Never inlined, so that no part of it runs before the thread pointer is set.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    next_epoch();
    let result = work();
    // The thread that ran last may have ended without a call.
    next_epoch();
    result
}

#[inline(always)]
fn become_host() {
    if GUEST.swap(0, Relaxed) != host_pointer() {
        set_thread_pointer(host_pointer());
    }
    compiler_fence(Ordering::SeqCst);
}

#[inline(always)]
fn become_guest(guest: usize) {
    compiler_fence(Ordering::SeqCst);
    if guest != host_pointer() {
        set_thread_pointer(guest);
    }
    GUEST.store(guest, Relaxed);
}

/// Switches to host code from the code of any guest.
#[inline(always)]
fn leave_guest() {
    GUEST.store(0, Relaxed);
    if guest::thread_pointer() != host_pointer() {
        set_thread_pointer(host_pointer());
    }
}
