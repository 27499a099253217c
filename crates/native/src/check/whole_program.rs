//! Whole programs: with `RADDLE_NATIVE=program` in the environment, the subject of the check is
//! `main`.

use std::ffi::{c_char, c_int, c_void};

use super::program::NativeProgram;
use super::test;
use crate::abi::real::real;
use crate::engine::Manner;
use crate::execution::running;
use crate::host::imports;
use crate::process::program::{self, Main, TEST, WANTED};
use crate::process::{exit_handlers, output};
use crate::threads::guests::{self, ThreadEnd};
use crate::threads::{life, unwind};

type Function = *mut c_void;

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    init: Function,
    fini: Function,
    loader_fini: Function,
    stack_end: *mut c_void,
) -> c_int {
    program::set_main(main as usize);
    exit_handlers::libraries_are_loaded();
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
    // SAFETY: the arguments are those of the program's first instructions, but for `main`, which has the same
    // type.
    unsafe { start(main, count, arguments, init, fini, loader_fini, stack_end) }
}

/// Function that guests run: `main` with its arguments.
extern "C" fn call_main(_: usize) -> usize {
    program::call() as usize
}

unsafe extern "C" fn check_main(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    program::set_arguments([count as usize, arguments as usize, environment as usize]);
    let is_test = std::env::var_os(WANTED).is_some_and(|it| it == TEST);
    // Other programs that this one starts are not checked. Backtraces are not needed, because the
    // message and place of a panic are read from its output.
    // SAFETY: the environment must not be used by another thread meanwhile, and there is none yet.
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
        test::check();
    }
    output::discard();
    output::discard_errors();
    load_locale();
    // The program's part of the stack begins with the strings and pointers of the arguments.
    let report = super::run(&NativeProgram::Whole, &name, arguments as usize, || {
        let status = guests::run_guest(call_main as extern "C" fn(usize) -> usize as usize, 0);
        if guests::with_running(|guest| guest.end) == ThreadEnd::Not {
            match unwind::has_left() {
                false => exit_handlers::exit(status as c_int, guests::run_guest),
                true => exit_handlers::leave_first_thread(),
            }
        }
        life::finish(status);
        report_status(status as u32 as c_int);
    });
    let status = super::print_report(&name, &report);
    // SAFETY: `_exit` has no precondition.
    unsafe { libc::_exit(status) }
}

/// Reports a nonzero status as a failure. If `main` has left by `pthread_exit`, the program
/// continues until its other threads have ended, and its status is 0.
fn report_status(status: c_int) {
    if unwind::has_left() {
        return;
    }
    let returned = guests::with_running(|guest| matches!(guest.end, ThreadEnd::Returned(_)));
    if returned && status != 0 {
        let message = format!("the program ended with status {status}");
        if !running().has_unhandled_panic() {
            running().fail(Manner::Exit, message, None);
        }
    }
    program::end();
}

/// Loads the locale before the first execution. The C library maps the files of a locale at its first use, in
/// every execution otherwise, and never unmaps them.
fn load_locale() {
    unsafe extern "C" {
        fn mblen(text: *const c_char, size: usize) -> c_int;
    }
    if !imports::any(&["setlocale", "newlocale", "__newlocale"]) {
        return;
    }
    // SAFETY: the texts are C strings, and the locale must not be used by another thread meanwhile: there is
    // none yet. It is restored before the program runs.
    unsafe {
        libc::setlocale(libc::LC_ALL, c"".as_ptr());
        // Conversions of characters are in another file of the locale.
        mblen(c"a".as_ptr(), 1);
        libc::setlocale(libc::LC_ALL, c"C".as_ptr());
    }
}

/// Ends this process when its parent dies, which may be killed.
fn end_with_parent() {
    let parent = std::env::var("RADDLE_PARENT").ok();
    let Some(parent) = parent.and_then(|parent| parent.parse::<c_int>().ok()) else {
        return;
    };
    // SAFETY: these calls have no precondition.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(2);
        }
    }
}
