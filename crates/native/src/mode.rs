//! Two kinds of code on one OS thread: the program's (*guest*) and raddle's (*host*).
//!
//! Each thread of the program has thread-local storage of its own, which the processor finds through
//! the thread pointer (the base of `fs`). Host code always runs with the OS thread's own thread
//! pointer. So host code may use whatever Rust and the C library offer, coroutines are switched only
//! while the thread pointer is the host's, and the switch itself need not know of it.
//!
//! * [`run`] lets guest code run until it returns, or [`leave`] is called.
//! * [`host`] is how guest code, inside a function that took the place of another, gets back.
//!
//! `GUEST` is the thread pointer of the guest that runs, and 0 while the host does. An OS thread that
//! nobody controls has another thread pointer, and [`is_guest`] tells it to mind its own business.

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, compiler_fence};

pub(crate) static GUEST: AtomicUsize = AtomicUsize::new(0);
static HOST: AtomicUsize = AtomicUsize::new(0);
/// Changes whenever a guest has been somewhere where others may have run.
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// Whether the thread pointer can be changed without a system call.
static IS_FAST: AtomicBool = AtomicBool::new(false);

/// The kernel lets programs use `wrfsbase`.
const HWCAP2_FSGSBASE: u64 = 1 << 1;
const ARCH_SET_FS: usize = 0x1002;

/// The calling OS thread is the one that runs checks.
pub(crate) fn settle() {
    // SAFETY: asks the C library.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    IS_FAST.store(capabilities & HWCAP2_FSGSBASE != 0, Relaxed);
    HOST.store(thread_pointer(), Relaxed);
}

/// The thread pointer of the OS thread that runs checks; guests on its own behalf have it too.
pub(crate) fn host_pointer() -> usize {
    HOST.load(Relaxed)
}

/// The thread pointer of the caller.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the C library keeps the thread pointer itself there.
    unsafe { asm!("mov {}, fs:[0x10]", out(reg) pointer, options(nostack, preserves_flags)) };
    pointer
}

#[inline(always)]
fn set_thread_pointer(pointer: usize) {
    // SAFETY: the caller has a block of thread-local storage there, and code on both sides of the
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

/// Whether the caller is code of the program that is being checked, on a thread that is controlled.
#[inline(always)]
pub(crate) fn is_guest() -> bool {
    let guest = GUEST.load(Relaxed);
    guest != 0 && guest == thread_pointer()
}

/// A number that is the same as long as the guest that runs does nothing that others could notice.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    EPOCH.load(Relaxed)
}

pub(crate) fn next_epoch() {
    EPOCH.store(EPOCH.load(Relaxed) + 1, Relaxed);
}

/// Runs host code on behalf of the guest that calls; other guests may run meanwhile.
#[inline]
pub(crate) fn host<R>(work: impl FnOnce() -> R) -> R {
    let guest = GUEST.load(Relaxed);
    let shares_errno = guest == host_pointer();
    let before = if shares_errno { errno() } else { 0 };
    become_host();
    let result = apart(work);
    become_guest(guest);
    if shares_errno {
        set_errno(before);
    }
    result
}

fn errno() -> i32 {
    // SAFETY: the address is the calling thread's own.
    unsafe { *libc::__errno_location() }
}

/// What the calling thread finds in `errno`.
pub(crate) fn set_errno(error: i32) {
    // SAFETY: the address is the calling thread's own.
    unsafe { *libc::__errno_location() = error };
}

/// Never inlined, so that nothing of it happens before the thread pointer is right.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    next_epoch();
    work()
}

#[inline(always)]
fn become_host() {
    if GUEST.swap(0, Relaxed) != host_pointer() {
        set_thread_pointer(host_pointer());
    }
    compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[inline(always)]
fn become_guest(guest: usize) {
    compiler_fence(std::sync::atomic::Ordering::SeqCst);
    if guest != host_pointer() {
        set_thread_pointer(guest);
    }
    GUEST.store(guest, Relaxed);
}

/// Where a guest can be left: its stack pointer when it was entered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Frame(usize);

impl Frame {
    /// Where the guest's part of the stack ends.
    pub(crate) fn stack(self) -> usize {
        self.0
    }
}

/// Runs `function(argument)` as the guest with this thread pointer; how to leave it is in `frame` from
/// then on.
///
/// # Safety
///
/// The function must be one of the program's, or of ours for guests, and take such an argument. There
/// must be a block of thread-local storage at the thread pointer, and room for the frame.
pub(crate) unsafe fn run(
    (function, argument): (usize, usize),
    thread_pointer: usize,
    frame: *mut Frame,
) -> usize {
    next_epoch();
    become_guest(thread_pointer);
    // SAFETY: vouched for by the caller.
    let result = unsafe { call(function, argument, frame) };
    GUEST.store(0, Relaxed);
    set_thread_pointer(host_pointer());
    compiler_fence(std::sync::atomic::Ordering::SeqCst);
    result
}

/// Goes on where [`run`] returns, in whatever mode this is called.
///
/// # Safety
///
/// The frame must be that of the `run` that the calling thread is in, and nothing between there and
/// here may need to be dropped.
pub(crate) unsafe fn leave(frame: Frame, result: usize) -> ! {
    // SAFETY: vouched for by the caller.
    unsafe { unwind_to(frame.0, result) }
}

#[unsafe(naked)]
unsafe extern "C" fn call(function: usize, argument: usize, frame: *mut Frame) -> usize {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov [rdx], rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

#[unsafe(naked)]
unsafe extern "C" fn unwind_to(stack: usize, result: usize) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "mov rax, rsi",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
