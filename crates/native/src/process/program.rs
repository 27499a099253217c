//! The program's `main`, and the restart of the program.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::abi::real::real;
use crate::execution::running;
use crate::host::{mode, phase};
use crate::names::symbols;
use crate::process::output;

pub(crate) type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's own `main` and its arguments.
static MAIN: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Variable that selects the subject of the check.
pub(crate) const WANTED: &str = "RADDLE_NATIVE";
pub(crate) const TEST: &str = "test";
/// Variable with the connection of a search to the command that shares it with other machines.
const SHARED: &str = "RADDLE_SHARED_SEARCH";

/// Sets the program's own `main`.
pub(crate) fn set_main(main: usize) {
    MAIN[0].store(main, Relaxed);
}

/// Sets the arguments of `main`, which is the subject of the check.
pub(crate) fn set_arguments(values: [usize; 3]) {
    for (place, value) in MAIN[1..].iter().zip(values) {
        place.store(value, Relaxed);
    }
}

/// Returns the program's own `main`.
pub(crate) fn main() -> usize {
    MAIN[0].load(Relaxed)
}

/// Calls `main` with its arguments.
pub(crate) fn call() -> c_int {
    let [main, count, arguments, environment] = MAIN.each_ref().map(|it| it.load(Relaxed));
    // SAFETY: `set_main` was called with the `main` of the program, which takes these arguments of
    // the system.
    unsafe {
        let main: Main = std::mem::transmute(main);
        main(count as c_int, arguments as *mut _, environment as *mut _)
    }
}

/// True if `main` is the subject of the check.
pub(crate) fn is_checked() -> bool {
    MAIN[2].load(Relaxed) != 0
}

/// Starts the program again, with another setting in its environment, before the check has a
/// result. `main` must be the subject of the check. Returns if that fails.
pub(crate) fn exec_again(setting: &str, value: &str) {
    if std::env::var_os(SHARED).is_some_and(|socket| !socket.is_empty()) {
        output::restore_errors();
        eprintln!(
            "raddle: the search begins again with {setting}={value}, which one that machines share cannot do on its own\n  \
             help: set {setting}={value} where it is started"
        );
        // SAFETY: `_exit` runs no destructors and exit handlers, and the command that waits for this process needs
        // none.
        unsafe { libc::_exit(2) }
    }
    // This library, which contains this function.
    let Some(library) = symbols::file(exec_again as *const () as usize) else {
        return;
    };
    let arguments = MAIN[2].load(Relaxed) as *const *const c_char;
    output::restore_errors();
    // SAFETY: `set_var` must not race with a use of the environment: no other thread of raddle's uses it, and
    // those of the program wait for this one. `execv` needs a list of C strings that ends with null, as the
    // arguments of the system do.
    unsafe {
        std::env::set_var("LD_PRELOAD", library);
        std::env::set_var(WANTED, if phase::is_test() { TEST } else { "program" });
        std::env::set_var(setting, value);
        real!(fn execv(*const c_char, *const *const c_char) -> c_int)(
            c"/proc/self/exe".as_ptr(),
            arguments,
        );
        for name in ["LD_PRELOAD", WANTED, setting] {
            std::env::remove_var(name);
        }
    }
    if !phase::is_test() {
        output::discard_errors();
    }
}

/// Ends the program, independently of its other threads.
pub(crate) fn end() {
    running().end_program();
    mode::next_epoch();
}
