//! How programs say that something is wrong, and how they end.
//!
//! A thread that finds something wrong ends where it is, and with it all who wait for it; the others
//! go on, as they do when a thread of a Rust test panics. So the search need not know more of the
//! end of a program than of any other.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::abi::real::real;
use crate::abi::trampoline;
use crate::engine::Manner;
use crate::execution::{running, shadow_stack};
use crate::host::mode;
use crate::names::symbols;
use crate::process::harness;
use crate::threads;

/// The running thread, in host mode, has found something wrong at a site.
pub(crate) fn fail_in(manner: Manner, message: String, site: usize) -> ! {
    running().fail(manner, with_chain(&message, site), running().place(site));
    threads::end_everything()
}

/// How the thread came there, after the first line of what it says.
fn with_chain(message: &str, site: usize) -> String {
    let chain = symbols::chain(site);
    let mut lines: Vec<&str> = message.lines().collect();
    if !chain.is_empty() {
        lines.insert(1.min(lines.len()), &chain);
    }
    lines.join("\n")
}

/// The same, for what raddle cannot control.
pub(crate) fn fail_at(message: &str, site: usize) -> ! {
    fail_in(Manner::Uncontrolled, message.to_owned(), site)
}

/// Leaves the guest for good.
pub(crate) fn diverge(last: impl FnOnce()) -> ! {
    mode::host(last);
    unreachable!("the guest was left")
}

trampoline::entry! {
    fn abort() -> ! as on_abort("rdi");
    fn exit(status: c_int) -> ! as on_exit("rsi");
    fn quick_exit(status: c_int) -> ! as on_quick_exit("rsi");
    fn _exit(status: c_int) -> ! as on_exit_at_once("rsi");
    fn _Exit(status: c_int) -> ! as on_exit_at_once("rsi");
    fn __assert_fail(
        text: *const c_char, file: *const c_char, line: c_uint, function: *const c_char
    ) -> ! as on_assert("r8");
}

extern "C" fn on_abort(code: usize) -> ! {
    if !mode::is_guest() {
        // SAFETY: what the caller wanted.
        unsafe { real!(fn abort() -> !)() }
    }
    let here = 0u8;
    let site = shadow_stack::called(code, &raw const here as usize);
    diverge(|| fail_in(Manner::Crash, "the program called abort".to_owned(), site))
}

/// The program is over, and so are all of its threads.
fn end_program(status: c_int, code: usize) -> ! {
    let site = shadow_stack::users(code);
    diverge(|| {
        running().end_program();
        match status {
            0 => threads::end_everything(),
            _ => {
                let message = format!("the program ended with status {status}");
                fail_in(Manner::Exit, message, site)
            }
        }
    })
}

extern "C" fn on_exit(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        // SAFETY: what the caller wanted.
        unsafe { real!(fn exit(c_int) -> !)(status) }
    }
    end_program(status, code)
}

extern "C" fn on_quick_exit(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        // SAFETY: what the caller wanted.
        unsafe { real!(fn quick_exit(c_int) -> !)(status) }
    }
    end_program(status, code)
}

extern "C" fn on_exit_at_once(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        // SAFETY: what the caller wanted.
        unsafe { real!(fn _exit(c_int) -> !)(status) }
    }
    end_program(status, code)
}

extern "C" fn on_assert(
    text: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    code: usize,
) -> ! {
    if !mode::is_guest() {
        type Text = *const c_char;
        // SAFETY: what the caller wanted.
        unsafe {
            real!(fn __assert_fail(Text, Text, c_uint, Text) -> !)(text, file, line, function)
        }
    }
    let site = shadow_stack::users(code);
    diverge(|| {
        // SAFETY: `assert` has texts from the program's source.
        let [text, file] = [text, file].map(|it| unsafe { CStr::from_ptr(it) }.to_string_lossy());
        let place = Some(format!("{file}:{line}:1"));
        running().fail(Manner::Assertion, with_chain(&text, site), place);
        threads::end_everything()
    })
}
