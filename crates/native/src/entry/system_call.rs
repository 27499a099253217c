//! System calls: by the function `syscall`, with which C++20 and Rust's standard library wait for
//! futexes, and by instructions in other code ([`dispatch`](crate::host::dispatch)).

use std::ffi::{c_int, c_long};
use std::time::Duration;

use crate::abi::real::forward;
use crate::abi::trampoline::watched_full;
use crate::execution::{running, shadow_stack};
use crate::host::mode::{self, host, is_guest};
use crate::io::opened;
use crate::names::regions;
use crate::names::rust_paths::FunctionKind;
use crate::process::uncontrolled;
use crate::rust::{channels, sync};
use crate::threads::futex::{self, WaitSite};
use crate::threads::time;

/// Mask of a futex operation without its options.
const OPERATION: c_int = 0x7f;

/// Site of a system call; `is_seen` is true if its code is instrumented.
#[derive(Clone, Copy)]
struct CallSite {
    site: usize,
    is_seen: bool,
    /// Return address.
    called: usize,
}

watched_full! {
    // The return address, and the last argument above it.
    fn syscall as system_call pushes ["push [rbx]", "push [rbx + 8]"];
}

/// Makes the system call by the C library.
fn real(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    type Word = usize;
    forward!(fn syscall(
        number: c_long, first: Word, second: Word, third: Word, fourth: Word, fifth: Word, sixth: Word
    ) -> c_long)
}

extern "C" fn system_call(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
    code: usize,
) -> c_long {
    let arguments = [first, second, third, fourth, fifth, sixth];
    let pass_on = || {
        let result = real(number, arguments);
        opened::called(number, result);
        result
    };
    if !is_guest() {
        return pass_on();
    }
    let call_site = CallSite {
        site: shadow_stack::users(code),
        is_seen: regions::kind(code) == FunctionKind::User,
        called: sync::waiting_call(code),
    };
    match model(number, arguments, call_site) {
        None => pass_on(),
        Some(Ok(result)) => result,
        Some(Err(error)) => {
            mode::set_errno(error);
            -1
        }
    }
}

/// In guest mode: models a system call by an instruction of the program's code; returns its result,
/// or an error.
pub(crate) fn model_direct(
    number: c_long,
    arguments: [usize; 6],
    code: usize,
) -> Option<Result<c_long, c_int>> {
    let call_site = CallSite {
        site: shadow_stack::users(code),
        is_seen: true,
        called: code,
    };
    model(number, arguments, call_site)
}

/// In guest mode: models a system call; returns its result, or an error. Nothing if the kernel must
/// make it.
fn model(
    number: c_long,
    arguments: [usize; 6],
    call_site: CallSite,
) -> Option<Result<c_long, c_int>> {
    match number {
        libc::SYS_futex => model_futex(arguments, call_site),
        libc::SYS_clone | libc::SYS_clone3 => {
            uncontrolled::refuse(number, arguments[0], call_site.site)
        }
        _ => None,
    }
}

fn model_futex(arguments: [usize; 6], call_site: CallSite) -> Option<Result<c_long, c_int>> {
    let [word, operation, value, time, ..] = arguments;
    let wanted = operation as c_int & OPERATION;
    let is_known = matches!(
        wanted,
        libc::FUTEX_WAIT | libc::FUTEX_WAKE | libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET
    );
    if !is_known {
        return None;
    }
    let (word, value) = (word as *mut u32, value as u32);
    let time = time as *const libc::timespec;
    Some(host(|| match wanted {
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Ok(match sync::wake(word, call_site.site) {
            true => 1,
            false => futex::wake(word, value, call_site.site).into(),
        }),
        _ => {
            let until = (!time.is_null()).then(|| match wanted {
                libc::FUTEX_WAIT => time::duration(time),
                _ => time::time_left(time),
            });
            let parked = sync::park(word, value, until, (call_site.called, call_site.site));
            match parked.unwrap_or_else(|| wait(word, value, until, call_site)) {
                0 => Ok(0),
                error => Err(error),
            }
        }
    }))
}

/// Waits while the word has the expected value; returns an error, or 0.
fn wait(word: *mut u32, expected: u32, until: Option<Duration>, call_site: CallSite) -> c_int {
    if let Some(until) = until
        && channels::times_out()
    {
        running().pass_time(until);
        return libc::ETIMEDOUT;
    }
    let CallSite { site, is_seen, .. } = call_site;
    futex::wait(word, expected, until, WaitSite { site, is_seen })
}
