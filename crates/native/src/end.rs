//! How programs say that something is wrong, and how they end.
//!
//! A thread that finds something wrong ends where it is, and with it all who wait for it; the others
//! go on, as they do when a thread of a Rust test panics. So the search need not know more of the
//! end of a program than of any other.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::execution::running;
use crate::real::real;
use crate::tsan::calls;
use crate::{mode, threads, trampoline};

/// The running thread, in host mode, has found something wrong.
pub(crate) fn fail(message: String, place: Option<String>) -> ! {
    running().fail(message, place);
    threads::end_everything()
}

/// The same, at a place in the program's code.
pub(crate) fn fail_at(message: &str, code: usize) -> ! {
    fail(message.to_owned(), running().place(code))
}

/// Leaves the guest for good.
fn diverge(last: impl FnOnce()) -> ! {
    mode::host(last);
    unreachable!("the guest was left")
}

trampoline::entry! {
    fn abort() -> ! as on_abort("rdi");
    fn exit(status: c_int) -> ! as on_exit("rsi");
    fn __assert_fail(
        text: *const c_char, file: *const c_char, line: c_uint, function: *const c_char
    ) -> ! as on_assert("r8");
}

extern "C" fn on_abort(code: usize) -> ! {
    if !mode::is_guest() {
        // SAFETY: what the caller wanted.
        unsafe { real!(fn abort() -> !)() }
    }
    let code = calls::users(code);
    diverge(|| fail("the program called abort".to_owned(), running().place(code)))
}

extern "C" fn on_exit(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        // SAFETY: what the caller wanted.
        unsafe { real!(fn exit(c_int) -> !)(status) }
    }
    let code = calls::users(code);
    diverge(|| match status {
        0 => threads::end_everything(),
        _ => fail(
            format!("the program ended with status {status}"),
            running().place(code),
        ),
    })
}

extern "C" fn on_assert(
    text: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    _code: usize,
) -> ! {
    if !mode::is_guest() {
        type Text = *const c_char;
        // SAFETY: what the caller wanted.
        unsafe {
            real!(fn __assert_fail(Text, Text, c_uint, Text) -> !)(text, file, line, function)
        }
    }
    diverge(|| {
        // SAFETY: `assert` has texts from the program's source.
        let [text, file] = [text, file].map(|it| unsafe { CStr::from_ptr(it) }.to_string_lossy());
        fail(
            format!("assertion failed: {text}"),
            Some(format!("{file}:{line}:1")),
        )
    })
}
