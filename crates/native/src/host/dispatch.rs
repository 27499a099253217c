//! System calls that code makes by itself, without the C library: inline assembly, and libraries with system
//! calls of their own.
//!
//! Linux can send a signal instead of making a system call, unless the instruction is in one range
//! of memory (syscall user dispatch, since 5.11). That range is the C library's code, which is
//! interposed by name. The signal handler runs on the guest's own stack, and other threads may run
//! meanwhile. It makes system calls that are not modelled through the C library.
//!
//! Dispatch is armed only if there is such code: all loaded files are searched for the instruction.
//! The kernel drops the setting in new threads and processes, so it is set again in each.

use std::ffi::{c_int, c_long, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use super::{loaded, mode, system};
use crate::abi::{caller, guest};

const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const OFF: usize = 0;
const ON: usize = 1;
/// Selector byte that the kernel reads: 1 turns system calls from outside of the range into
/// signals.
static SELECTOR: AtomicU8 = AtomicU8::new(1);

/// The instruction `syscall`.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// Thread pointer of the armed thread.
static ARMED: AtomicUsize = AtomicUsize::new(0);

/// Model of guests' system calls, by number, arguments and return address. Returns the result or an
/// error, or nothing if the kernel must make the call.
pub(crate) type Model = fn(c_long, [usize; 6], usize) -> Option<Result<c_long, c_int>>;

static MODEL: OnceLock<Model> = OnceLock::new();

/// Sets the function that models guests' system calls from now on.
pub(crate) fn model_by(model: Model) {
    let _ = MODEL.set(model);
}

/// Result of the search for system calls.
#[derive(Default)]
struct Loaded {
    /// The C library's code.
    allowed: Range<usize>,
    /// True if there is code elsewhere that makes system calls.
    has_calls: bool,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// Intercepts system calls of the calling OS thread from now on, if the program makes any by itself.
pub(crate) fn arm() {
    let loaded = LOADED.get_or_init(look);
    if !loaded.has_calls {
        return;
    }
    let thread = guest::thread_pointer();
    if ARMED.swap(thread, Relaxed) == thread {
        return;
    }
    handle();
    let Range { start, end } = loaded.allowed;
    if !switch(ON, start, end - start, &raw const SELECTOR as usize) {
        eprintln!(
            "raddle: this kernel does not show system calls that code makes by itself, so threads that \
             wait by such calls are not controlled\n  help: use Linux 5.11 or later"
        );
    }
}

/// Forgets the armed thread, in a new process.
pub(crate) fn forget() {
    ARMED.store(0, Relaxed);
}

/// Stops intercepting system calls, at the end of a check.
pub(crate) fn disarm() {
    if ARMED.swap(0, Relaxed) != 0 {
        switch(OFF, 0, 0, 0);
    }
}

fn switch(on: usize, start: usize, size: usize, selector: usize) -> bool {
    // SAFETY: `prctl` needs a selector that stays readable, because the kernel reads it at each
    // system call: it is a static. Code in the range is not affected.
    unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, on, start, size, selector) == 0 }
}

fn handle() {
    // SAFETY: `sigaction` needs a valid description and a handler of the type that `SA_SIGINFO`
    // declares. All-zero is valid, and the description outlives the call. The handler runs on the
    // stack of the code that makes the call; the next call may interrupt it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_system_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut());
    }
}

unsafe extern "C" fn on_system_call(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context of the interrupted code, which it restores when
    // this returns.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let read = |register: c_int| registers[register as usize] as usize;
    let number = read(libc::REG_RAX) as c_long;
    let arguments = [
        libc::REG_RDI,
        libc::REG_RSI,
        libc::REG_RDX,
        libc::REG_R10,
        libc::REG_R8,
        libc::REG_R9,
    ]
    .map(read);
    let (code, top) = (read(libc::REG_RIP), read(libc::REG_RSP));
    let modelled = match (mode::is_guest(), MODEL.get()) {
        (true, Some(model)) => {
            caller::set_top(top);
            model(number, arguments, code)
        }
        _ => None,
    };
    let result = match modelled {
        Some(Ok(result)) => result,
        Some(Err(error)) => -c_long::from(error),
        // SAFETY: the program makes this system call with these arguments, so its requirements on
        // them are the program's obligation.
        None => unsafe { system::call(number, arguments) as c_long },
    };
    registers[libc::REG_RAX as usize] = result;
}

/// Searches the loaded files for system calls.
fn look() -> Loaded {
    let mut found = Loaded::default();
    loaded::each(|module| {
        let name = module.name();
        let name = name.rsplit('/').next().unwrap_or_default();
        // Guests run neither: `openmp` replaces the last two.
        let is_systems = ["ld-linux", "linux-vdso", "libgomp.", "libomp."]
            .iter()
            .any(|start| name.starts_with(start));
        if is_systems || module.is_ours() {
            return;
        }
        for header in module.headers() {
            let is_code = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
            if !is_code || header.p_flags & libc::PF_R == 0 {
                continue;
            }
            let range = module.range(header);
            if name.starts_with("libc.so") {
                found.allowed = range;
                continue;
            }
            // SAFETY: the range is a segment with code of a loaded module, which is readable.
            let code = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
            found.has_calls |= code.windows(2).any(|part| part == SYSTEM_CALL);
        }
    });
    found
}
