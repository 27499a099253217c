//! Leaving a function of the program's by the unwinder of exceptions.
//!
//! The unwinder must begin at a frame of the program's. So functions in which a thread may end do
//! not call it: they request it and return. Their trampoline
//! ([`departing!`](super::trampoline::departing)) jumps to the unwinder as if the program had
//! called it.

use std::arch::naked_asm;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// True if the running guest unwinds when its current call returns; other OS threads do not.
pub(crate) static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// Arguments of the unwinder: the exception, and the function that it calls at every frame.
static EXCEPTION: AtomicUsize = AtomicUsize::new(0);
static STOP: AtomicUsize = AtomicUsize::new(0);
/// The unwinder, `_Unwind_ForcedUnwind`.
static UNWINDER: AtomicUsize = AtomicUsize::new(0);

/// Sets the unwinder and its stop function, and clears any request.
pub(crate) fn begin(unwinder: usize, stop: usize) {
    IS_ASKED.store(false, Relaxed);
    UNWINDER.store(unwinder, Relaxed);
    STOP.store(stop, Relaxed);
}

/// Makes the running thread unwind with this exception when its current call returns.
pub(crate) fn ask(exception: usize) {
    EXCEPTION.store(exception, Relaxed);
    IS_ASKED.store(true, Relaxed);
}

/// Jump target with the stack of a call by the program; does not return there.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn unwind() -> ! {
    naked_asm!(
        "mov byte ptr [rip + {is_asked}], 0",
        "mov rdi, [rip + {exception}]",
        "mov rsi, [rip + {stop}]",
        "xor edx, edx",
        "jmp [rip + {unwinder}]",
        is_asked = sym IS_ASKED,
        exception = sym EXCEPTION,
        stop = sym STOP,
        unwinder = sym UNWINDER,
    )
}

/// Defines a function with a name of the library's. For a guest it calls the function behind the
/// arrow with its own argument first; then it jumps to the library's function, as if that had been
/// called.
macro_rules! preceded {
    (fn $name:ident($argument:ident: $type:ty) -> $result:ty => $first:ident;) => {
        const _: extern "C" fn($type) = $first;

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name($argument: $type) -> $result {
            extern "C" fn find() -> usize {
                $crate::abi::real::real!(fn $name($type) -> $result) as *const () as usize
            }
            $crate::abi::trampoline::guest_asm!(
                [
                    ".cfi_startproc",
                    "push rdi",
                    ".cfi_adjust_cfa_offset 8",
                    $crate::abi::registers::unless_guest!("2f"),
                    "call {first}",
                    "2:",
                    "call {find}",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -8",
                    "jmp rax",
                    ".cfi_endproc",
                ]
                first = sym $first,
                find = sym find,
            )
        }
    };
}

pub(crate) use preceded;
