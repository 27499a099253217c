//! Signals for faults of a guest.
//!
//! A thread cannot be ended inside of a signal handler. So the handler only changes the position at
//! which the guest continues, to [`land`], which ends the thread like a failing assertion does. A
//! fault in raddle's own code, which may follow from an error of the program, goes to raddle's
//! handler, which prints the story and ends the process.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use crate::abi::stack;
use crate::engine::Manner;
use crate::execution::{running, shadow_stack};
use crate::host::{arena, mode};
use crate::threads::failure;

/// Size of the stack for handlers, which is apart from the one that may have overflowed.
const STACK: usize = 256 << 10;
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
];
/// Number of bytes that functions may use below the stack pointer (the red zone of the ABI).
const RED_ZONE: usize = 128;
/// Maximum distance from the start of a stack, in bytes, at which a fault is a stack overflow.
const NEAR: usize = 64 << 10;
const PAGE: usize = 4096;
/// Bytes kept free on an overflowed stack for reporting the failure, at the cost of the last
/// frames.
const LAST_ROOM: usize = 256 << 10;

/// The handler that raddle has for faults in its coroutines.
static RADDLES: OnceLock<libc::sigaction> = OnceLock::new();

/// Provides a stack for handlers to the calling OS thread, unless it has one. Rust programs do so
/// themselves.
pub(crate) fn prepare() {
    // SAFETY: `sigaltstack` needs valid descriptions and a stack that stays mapped. All-zero is a
    // valid `stack_t`, both descriptions outlive the calls, and the new stack is never unmapped.
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

/// Installs the handler before raddle's own, which is installed when the first execution begins.
pub(crate) fn install() {
    RADDLES.get_or_init(|| {
        // SAFETY: `sigaction` needs valid descriptions and a handler of the type that `SA_SIGINFO`
        // declares. All-zero is a valid `sigaction`, and both pointers are to live values.
        unsafe {
            let mut raddles: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, null_mut(), &mut raddles);
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            for (signal, _) in SIGNALS {
                libc::sigaction(signal, &ours, null_mut());
            }
            raddles
        }
    });
}

/// In a child that is not controlled: makes faults end it.
pub(crate) fn remove() {
    for (signal, _) in SIGNALS {
        // SAFETY: `signal` needs a valid action, and `SIG_DFL` is one for every signal.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    if mode::is_guest() {
        // SAFETY: the kernel passes valid pointers to a handler installed with SA_SIGINFO.
        unsafe { divert(signal, (*info).si_addr() as usize, &mut *context.cast()) };
        return;
    }
    match RADDLES.get() {
        Some(raddles) if raddles.sa_sigaction > libc::SIG_IGN => {
            // SAFETY: the number is a handler that was installed with SA_SIGINFO, so that it has this type;
            // the arguments are the kernel's.
            unsafe {
                let handler: Handler = std::mem::transmute(raddles.sa_sigaction);
                handler(signal, info, context);
            }
        }
        // SAFETY: `SIG_DFL` is an action for every signal: the fault happens again and ends the process.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}

/// Makes the interrupted guest continue in [`land`], on its own stack. If no memory is left there,
/// the last frames are lost.
fn divert(signal: c_int, address: usize, context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let [code, stack] = [libc::REG_RIP, libc::REG_RSP].map(|it| registers[it as usize] as usize);
    let start = running().end_of_stack().wrapping_sub(stack::STACK);
    let overflows = address.abs_diff(start) < NEAR && stack.abs_diff(start) < 2 * NEAR;
    // The memory below is not readable.
    let stack = match overflows {
        true => stack.max((start + PAGE) & !(PAGE - 1)),
        false => stack,
    };
    let top = match overflows {
        true => start + NEAR + LAST_ROOM,
        false => stack - RED_ZONE,
    };
    // Registers and stack are those after a call of `land`.
    let values = [
        (libc::REG_RIP, land as *const () as usize),
        (libc::REG_RSP, (top & !15) - size_of::<usize>()),
        (libc::REG_RDI, if overflows { 0 } else { signal as usize }),
        (libc::REG_RSI, address),
        (libc::REG_RDX, code),
        (libc::REG_RCX, stack),
    ];
    for (number, value) in values {
        registers[number as usize] = value as i64;
    }
}

/// Ends the thread that faulted; no signal means a stack overflow.
extern "C" fn land(signal: usize, address: usize, code: usize, stack: usize) -> ! {
    let site = shadow_stack::interrupted(code, stack);
    failure::diverge(|| {
        let message = match signal as c_int {
            0 => format!(
                "it used more than the {} MB of stack that it has\n\
                 help: look for a recursion without end",
                stack::STACK >> 20
            ),
            signal => what(signal, address),
        };
        failure::fail_in(Manner::Crash, message, site)
    })
}

fn what(signal: c_int, address: usize) -> String {
    let name = SIGNALS.iter().find(|(number, _)| *number == signal);
    let name = name.map_or("a signal", |(_, name)| name);
    match signal {
        libc::SIGSEGV | libc::SIGBUS if address < PAGE => {
            format!("{name}: it used address {address:#x}, through a pointer that is null")
        }
        libc::SIGSEGV | libc::SIGBUS => {
            format!(
                "{name}: it used address {address:#x}, which is not there or must not be written"
            )
        }
        libc::SIGFPE => format!("{name}: a division by zero, or one whose result does not fit"),
        _ => format!("{name}: an instruction that there is not"),
    }
}
