//! Ends of programs by themselves: `exit`, `abort` and failing assertions.

use std::ffi::{c_char, c_int, c_uint};

use super::{exit_handlers, harness, rust_panics};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::entry;
use crate::engine::Manner;
use crate::execution::{running, shadow_stack};
use crate::host::mode;
use crate::threads::{failure, guests, unwind, unwritten_reads};

entry! {
    fn abort() -> ! as on_abort("rdi");
    fn exit(status: c_int) -> ! as on_exit("rsi");
    fn quick_exit(status: c_int) -> ! as on_quick_exit("rsi");
    fn _exit(status: c_int) -> ! as on_exit_at_once("rsi");
    fn _Exit(status: c_int) -> ! as on_exit_at_once("rsi");
    fn __assert_fail(
        text: GuestPtr<c_char>, file: GuestPtr<c_char>, line: c_uint, function: GuestPtr<c_char>
    ) -> ! as on_assert("r8");
}

extern "C" fn on_abort(code: usize) -> ! {
    if !mode::is_guest() {
        forward!(fn abort() -> !)
    }
    let here = 0u8;
    let site = shadow_stack::called(code, &raw const here as usize);
    failure::diverge(|| {
        if let Some((message, place)) = rust_panics::aborts() {
            running().fail(Manner::Panic, message, Some(place));
            guests::end_everything()
        }
        failure::fail_in(Manner::Crash, "the program called abort".to_owned(), site)
    })
}

/// Ends the program, with all of its threads.
fn end_program(status: c_int, code: usize) -> ! {
    let site = shadow_stack::users(code);
    failure::diverge(|| {
        unwritten_reads::settle();
        running().end_program();
        match status {
            0 => guests::end_everything(),
            _ => {
                let message = format!("the program ended with status {status}");
                failure::fail_in(Manner::Exit, message, site)
            }
        }
    })
}

extern "C" fn on_exit(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        forward!(fn exit(status: c_int) -> !)
    }
    mode::host(|| exit_handlers::exit(status, unwind::run_between));
    end_program(status, code)
}

extern "C" fn on_quick_exit(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        forward!(fn quick_exit(status: c_int) -> !)
    }
    mode::host(|| exit_handlers::quick_exit(status, unwind::run_between));
    end_program(status, code)
}

extern "C" fn on_exit_at_once(status: c_int, code: usize) -> ! {
    if !mode::is_guest() {
        harness::exit(status);
        forward!(fn _exit(status: c_int) -> !)
    }
    end_program(status, code)
}

extern "C" fn on_assert(
    text: GuestPtr<c_char>,
    file: GuestPtr<c_char>,
    line: c_uint,
    function: GuestPtr<c_char>,
    code: usize,
) -> ! {
    if !mode::is_guest() {
        type Text = GuestPtr<c_char>;
        forward!(fn __assert_fail(text: Text, file: Text, line: c_uint, function: Text) -> !)
    }
    let site = shadow_stack::users(code);
    failure::diverge(|| {
        let [text, file] = [text, file].map(GuestPtr::to_text);
        let place = Some(format!("{file}:{line}:1"));
        running().fail(Manner::Assertion, failure::with_chain(&text, site), place);
        guests::end_everything()
    })
}
