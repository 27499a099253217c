//! OpenMP, as gcc and clang compile it.
//!
//! Both turn directives into calls of a runtime library: `GOMP_` for gcc's libgomp, `__kmpc_` for
//! clang's libomp, `omp_` for both. Those libraries keep pools of threads that wait by system calls of
//! their own, and what orders the threads is in code that nobody sees. So guests get a small runtime
//! that is made of raddle's own objects: the threads of a team are spawned and joined with their region,
//! barriers and critical sections are what they are, and each task is a thread. Code that nobody controls
//! gets the library.
//!
//! The state here is shared by guests but unknown to the search, so what a guest finds in it must not
//! depend on the schedule: whatever is decided by who comes first is an operation.

mod calls;
mod clang;
mod gcc;
mod refused;
mod tasks;
mod team;
mod work;

pub(crate) use team::begin;

use crate::trampoline;
use crate::tsan;

/// Defines functions that guests find instead of those of the runtime libraries; others find the library's.
macro_rules! runtime {
    ($($(#[$attribute:meta])* fn $name:ident as $to:path;)*) => {
        $(
            const _: () = {
                extern "C" fn real() -> usize {
                    static FOUND: std::sync::atomic::AtomicUsize =
                        std::sync::atomic::AtomicUsize::new(0);
                    const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                        concat!(stringify!($name), "\0").as_bytes(),
                    ) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    };
                    $crate::real::function(&FOUND, NAME)
                }

                $(#[$attribute])*
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                extern "C" fn $name() {
                    std::arch::naked_asm!(
                        "mov rax, fs:[0x10]",
                        "cmp rax, [rip + {guest}]",
                        "jne 2f",
                        "mov [rip + {top}], rsp",
                        "jmp {to}",
                        "2:",
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "push rcx",
                        "push r8",
                        "push r9",
                        // The stack is aligned then.
                        "push 0",
                        "call {real}",
                        "add rsp, 8",
                        "pop r9",
                        "pop r8",
                        "pop rcx",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        guest = sym $crate::mode::GUEST,
                        top = sym $crate::trampoline::TOP,
                        to = sym $to,
                        real = sym real,
                    )
                }
            };
        )*
    };
}

use runtime;

/// In guest mode, first thing in a function behind [`runtime!`]: where in the program the call is.
fn caller() -> usize {
    // SAFETY: the stack of the calling guest begins with the address that it goes on at.
    let code = unsafe { (trampoline::top() as *const usize).read() };
    tsan::calls::users(code)
}
