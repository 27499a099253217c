//! Threads that raddle does not control: those from before the check, and those that a program
//! starts without the C library's functions for threads.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::abi::real::forward;
use crate::abi::trampoline::replace;
use crate::execution::shadow_stack;
use crate::host::mode::host;
use crate::threads::failure;

/// Name of raddle's own thread, as far as the kernel keeps it.
const WATCHDOG: &str = "raddle watchdog";

/// True if threads ran already when the check began.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

/// Returns why the check may leave out behaviours, if threads ran already when it began.
pub(crate) fn left_out() -> Option<String> {
    let reason = "the order of threads that were started before the check is not explored";
    ARE_THERE.load(Relaxed).then(|| reason.to_owned())
}

/// At the beginning of a check: warns of threads that run already. The calling thread runs the check, and the first
/// thread of the process waits for it.
pub(crate) fn warn() {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    // SAFETY: `gettid` has no precondition.
    let caller = unsafe { libc::gettid() };
    let own = [std::process::id().to_string(), caller.to_string()];
    let mut names = Vec::new();
    for thread in threads.flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let is_own = own.iter().any(|id| *thread.file_name() == **id);
        if !is_own && name.trim_end() != WATCHDOG {
            names.push(format!("`{}`", name.trim_end()));
        }
    }
    ARE_THERE.store(!names.is_empty(), Relaxed);
    if !names.is_empty() {
        let count = match names.len() {
            1 => "a thread was".to_owned(),
            count => format!("{count} threads were"),
        };
        eprintln!(
            "raddle: {count} started before the check and cannot be controlled: {}\n  note: what such \
             threads do has no place in stories, and who waits for them hangs\n  help: start threads inside \
             the check; if a library starts them when it is loaded, check without it",
            names.join(", ")
        );
    }
}

/// In guest mode: refuses a new thread that shares memory, because it would not be controlled.
/// Processes are not refused.
pub(crate) fn refuse(number: c_long, flags: usize, code: usize) -> Option<Result<c_long, c_int>> {
    let flags = match number {
        // SAFETY: callers of `clone3` must pass the address of a struct that begins with the flags;
        // if they do not, the fault is theirs.
        libc::SYS_clone3 => unsafe { (flags as *const u64).read() },
        _ => flags as u64,
    };
    let shares_memory = flags & libc::CLONE_VM as u64 != 0;
    let is_vfork = flags & libc::CLONE_VFORK as u64 != 0;
    if shares_memory && !is_vfork {
        host(|| fail(code));
    }
    None
}

fn fail(code: usize) -> ! {
    failure::fail_at(
        "the program starts a thread by clone\nhelp: use pthread_create",
        code,
    )
}

extern "C" fn clone_by_name(
    function: usize,
    stack: usize,
    flags: c_int,
    argument: usize,
    parent: usize,
    local: usize,
    child: usize,
) -> c_int {
    refuse(libc::SYS_clone, flags as usize, shadow_stack::caller_site());
    type Word = usize;
    forward!(fn clone(
        function: Word, stack: Word, flags: c_int, argument: Word, parent: Word, local: Word, child: Word
    ) -> c_int)
}

replace! {
    fn clone as clone_by_name;
}
