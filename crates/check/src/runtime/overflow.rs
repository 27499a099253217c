//! Stack overflow in a coroutine becomes a failure of the check instead of the end of the process,
//! and any other fault there ends the process only after a report.
//!
//! Each stack ends in a guard page. After a fault there, a running coroutine is left at once: its
//! stack is not unwound and never reused. The same happens after a fault elsewhere, because a
//! signal handler cannot print a report. The state of the process is unknown then, so it ends after
//! the report. A fault outside coroutines goes to the previous handler, usually std's, which ends
//! the process.

/// Ends the process after an overflow inside the engine, whose state is inconsistent then.
pub(super) fn give_up(stack_size: usize) -> ! {
    eprintln!(
        "raddle: a modelled thread used more than its {stack_size} bytes of stack inside raddle \
         itself; raise `stack_size`"
    );
    std::process::exit(2);
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod handler {
    use std::sync::OnceLock;

    use crate::runtime::Context;
    use crate::runtime::switch::{Exit, Guard};

    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    pub(crate) fn install() {
        PREVIOUS.get_or_init(|| {
            // SAFETY: all-zero is a valid `sigaction`, and both pointers are to live values. The
            // handler runs on the alternate stack that std gives every thread.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_fault as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let mut previous: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGSEGV, &action, &mut previous);
                previous
            }
        });
    }

    unsafe extern "C" fn on_fault(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes valid pointers to a handler installed with SA_SIGINFO.
        let (address, registers) = unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            ((*info).si_addr() as usize, &mut context.uc_mcontext)
        };
        if let Some(context) = crate::runtime::current()
            && let Some(guard) = running_guard(context)
        {
            // SAFETY: `sysconf` has no precondition.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            if (guard.limit()..guard.limit() + page).contains(&address) {
                // SAFETY: the fault is in the guard page of the running coroutine, which is left
                // for good: nothing on its stack is used again.
                unsafe { guard.leave(&context.driver, Exit::Overflowed, registers) };
                return;
            }
            if guard.contains(stack_pointer(registers)) {
                // SAFETY: the fault is in code on the stack of the running coroutine, which is left
                // for good, and soon the process ends.
                unsafe { guard.leave(&context.driver, Exit::Crashed, registers) };
                return;
            }
        }
        // SAFETY: the arguments are those of this handler, for the handler that was installed
        // before.
        unsafe { pass_on(signal, info, context) };
    }

    /// Returns the guard of the interrupted coroutine.
    fn running_guard(context: &Context) -> Option<Guard> {
        // SAFETY: the table is changed only by code on this OS thread, which is interrupted. If a
        // change was interrupted, the address is not in a guard page of the table, or the entry is
        // complete.
        let slots = unsafe { &*context.slots.as_ptr() };
        slots
            .get(context.thread.get().index())
            .and_then(|slot| slot.home.guard())
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(context: &libc::mcontext_t) -> usize {
        context.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(context: &libc::mcontext_t) -> usize {
        context.sp as usize
    }

    /// Ends the process as the fault would have.
    pub(crate) fn end() -> ! {
        // SAFETY: `signal` and `raise` have no precondition; the process ends.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            libc::raise(libc::SIGSEGV);
        }
        std::process::abort()
    }

    unsafe fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        match PREVIOUS.get() {
            Some(previous) if previous.sa_sigaction > libc::SIG_IGN => {
                type Handler =
                    unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                // SAFETY: neither SIG_DFL nor SIG_IGN, so it is a function with these arguments;
                // one without SA_SIGINFO ignores the last two.
                unsafe {
                    let handler: Handler = std::mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                }
            }
            // SAFETY: `signal` has no precondition for `SIG_DFL`; the fault recurs and ends the
            // process.
            _ => unsafe {
                libc::signal(signal, libc::SIG_DFL);
            },
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod handler {
    /// Does nothing: on other systems an overflow ends the process, as it does outside a check.
    pub(crate) fn install() {}

    pub(crate) fn end() -> ! {
        std::process::abort()
    }
}

pub(super) use handler::end;
pub(crate) use handler::install;
