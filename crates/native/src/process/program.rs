//! Whole programs: with `RADDLE_NATIVE=program` in the environment, `main` is what is checked.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{harness, output};
use crate::abi::real::real;
use crate::engine::{Manner, check_test, check_whole};
use crate::execution::running;
use crate::host::{imports, mode};
use crate::names::symbols;
use crate::{check, threads};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Function = *mut c_void;

/// The program's own `main` and its arguments.
static MAIN: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Says what is checked.
const WANTED: &str = "RADDLE_NATIVE";
const TEST: &str = "test";

/// The program's own `main`.
pub(crate) fn main() -> usize {
    MAIN[0].load(Relaxed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    init: Function,
    fini: Function,
    loader_fini: Function,
    stack_end: *mut c_void,
) -> c_int {
    MAIN[0].store(main as usize, Relaxed);
    let start = real!(
        fn __libc_start_main(
            Main, c_int, *mut *mut c_char, Function, Function, Function, *mut c_void
        ) -> c_int
    );
    let wanted = std::env::var(WANTED).unwrap_or_default();
    let main = match wanted.as_str() {
        "program" | TEST => check_main,
        _ => main,
    };
    // SAFETY: what the program's first instructions asked for, with another `main`.
    unsafe { start(main, count, arguments, init, fini, loader_fini, stack_end) }
}

/// What guests run: `main` with its arguments.
extern "C" fn call_main(_: usize) -> usize {
    call() as usize
}

/// Calls `main` with its arguments.
pub(crate) fn call() -> c_int {
    let [main, count, arguments, environment] = MAIN.each_ref().map(|it| it.load(Relaxed));
    // SAFETY: these are the program's `main` and what the system gave it.
    unsafe {
        let main: Main = std::mem::transmute(main);
        main(count as c_int, arguments as *mut _, environment as *mut _)
    }
}

unsafe extern "C" fn check_main(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    let values = [count as usize, arguments as usize, environment as usize];
    for (place, value) in MAIN[1..].iter().zip(values) {
        place.store(value, Relaxed);
    }
    let is_test = std::env::var_os(WANTED).is_some_and(|it| it == TEST);
    // Other programs that this one starts are their own business. What a panic prints is read, and where it
    // was is known.
    // SAFETY: there are no other threads yet.
    unsafe {
        for name in [c"LD_PRELOAD", c"RADDLE_NATIVE"] {
            libc::unsetenv(name.as_ptr());
        }
        for name in [c"RUST_BACKTRACE", c"RUST_LIB_BACKTRACE"] {
            libc::setenv(name.as_ptr(), c"0".as_ptr(), 1);
        }
    }
    let name = std::env::args().next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    end_with_parent();
    if is_test {
        check_test();
        harness::check();
    }
    check_whole();
    output::discard();
    load_locale();
    // The strings and pointers of the arguments, and all that is beyond them.
    let report = check::run(&name, arguments as usize, || {
        let status = threads::run_guest(call_main as extern "C" fn(usize) -> usize as usize, 0);
        threads::finish(status);
        report_status(status as u32 as c_int);
    });
    let status = check::tell(&name, &report);
    // SAFETY: the program itself has done nothing that needs to be brought to an end.
    unsafe { libc::_exit(status) }
}

/// Whether `main` is what is checked.
pub(crate) fn is_checked() -> bool {
    MAIN[2].load(Relaxed) != 0
}

/// The program begins once more, with another setting in its environment; nothing has come of the check
/// so far. `main` must be what is checked. Returns if that cannot be done.
pub(crate) fn begin_anew(setting: &str, value: &str) {
    // Ours, which this function is in.
    let Some(library) = symbols::file(begin_anew as *const () as usize) else {
        return;
    };
    let arguments = MAIN[2].load(Relaxed) as *const *const c_char;
    // SAFETY: no other thread of ours looks at the environment, and the program's wait for this one. The
    // arguments are those that the system gave the program.
    unsafe {
        std::env::set_var("LD_PRELOAD", library);
        std::env::set_var(WANTED, if harness::is_used() { TEST } else { "program" });
        std::env::set_var(setting, value);
        real!(fn execv(*const c_char, *const *const c_char) -> c_int)(
            c"/proc/self/exe".as_ptr(),
            arguments,
        );
        for name in ["LD_PRELOAD", WANTED, setting] {
            std::env::remove_var(name);
        }
    }
}

/// A program that does not end well says so by its status.
fn report_status(status: c_int) {
    let returned = threads::with_running(|guest| matches!(guest.end, threads::End::Returned(_)));
    if returned && status != 0 {
        let message = format!("the program ended with status {status}");
        if !running().has_unhandled_panic() {
            running().fail(Manner::Exit, message, None);
        }
    }
    end();
}

/// The program is over, whatever its other threads do.
pub(crate) fn end() {
    running().end_program();
    mode::next_epoch();
}

/// The C library maps the files of a locale when a program first asks for it, which would be in every
/// execution, and nobody unmaps them. What is there before the first stays.
fn load_locale() {
    unsafe extern "C" {
        fn mblen(text: *const c_char, size: usize) -> c_int;
    }
    if !imports::any(&["setlocale", "newlocale", "__newlocale"]) {
        return;
    }
    // SAFETY: texts that end with a zero; the program does not run yet, and finds the locale as it was.
    unsafe {
        libc::setlocale(libc::LC_ALL, c"".as_ptr());
        // How characters are converted comes from another file.
        mblen(c"a".as_ptr(), 1);
        libc::setlocale(libc::LC_ALL, c"C".as_ptr());
    }
}

/// Whoever runs the check may be ended by force, and nothing is to go on then.
fn end_with_parent() {
    let parent = std::env::var("RADDLE_PARENT").ok();
    let Some(parent) = parent.and_then(|parent| parent.parse::<c_int>().ok()) else {
        return;
    };
    // SAFETY: asks for a signal, and for a number.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(2);
        }
    }
}
