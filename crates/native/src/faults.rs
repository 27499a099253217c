//! Signals for what a guest must not do: they find the guest's thread-local storage in place, and must
//! find the host's before anything else looks.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::{arena, mode};

/// Room for handlers, beside the stack that may be what is wrong.
const STACK: usize = 256 << 10;
const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// The handler that raddle has for faults in its coroutines.
static RADDLES: OnceLock<libc::sigaction> = OnceLock::new();

/// Gives the calling OS thread a stack for handlers, unless it has one. Rust programs do so themselves.
pub(crate) fn prepare() {
    // SAFETY: both stacks are described by live values, and the new one is never given back.
    unsafe {
        let mut old: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(null_mut(), &mut old);
        if old.ss_flags & libc::SS_DISABLE != 0 {
            let new = libc::stack_t {
                ss_sp: arena::map(STACK).cast(),
                ss_flags: 0,
                ss_size: STACK,
            };
            libc::sigaltstack(&new, null_mut());
        }
    }
}

/// Comes before raddle's own handler, which is there once the first execution begins.
pub(crate) fn install() {
    RADDLES.get_or_init(|| {
        // SAFETY: all-zero is a valid `sigaction`, and both pointers are to live values.
        unsafe {
            let mut raddles: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, null_mut(), &mut raddles);
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            for signal in SIGNALS {
                libc::sigaction(signal, &ours, null_mut());
            }
            raddles
        }
    });
}

/// In a child that nobody controls: faults end it.
pub(crate) fn remove() {
    for signal in SIGNALS {
        // SAFETY: what happens if nobody says otherwise.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    if mode::is_guest() {
        mode::interrupt();
    }
    match RADDLES.get() {
        Some(raddles) if raddles.sa_sigaction > libc::SIG_IGN => {
            // SAFETY: raddle's handler takes these arguments, which are the kernel's.
            unsafe {
                let handler: Handler = std::mem::transmute(raddles.sa_sigaction);
                handler(signal, info, context);
            }
        }
        // SAFETY: the fault happens again and ends the process.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
