//! Futexes, which programs use through `syscall`: those of C++20 and of Rust's standard library; and
//! through system calls of their own ([`crate::host::dispatch`]).
//!
//! Who waits first becomes a waiter and then looks at the word, so that a change in between is not
//! missed. If the word is not what it should be, the waiter leaves again, and passes on the wake-up that
//! may have reached it by then: to its neighbours that is one that took a little longer.

use std::arch::naked_asm;
use std::ffi::{c_int, c_long};
use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, condvar::Call};
use raddle_engine::{Operation, Reply};

use super::time;
use crate::abi::real::real;
use crate::abi::trampoline;
use crate::entry::atomic;
use crate::execution::{running, shadow_stack};
use crate::host::mode::{self, host, is_guest};
use crate::io::opened;
use crate::memory::objects;
use crate::names::regions;
use crate::names::rust_paths::Kind;
use crate::process::uncontrolled;
use crate::rust::{channels, sync};

const KIND: &str = "futex";
/// What of an operation is not an option.
const OPERATION: c_int = 0x7f;

fn call(word: *mut u32, call: Call, code: usize) -> Reply {
    let initial = || Object::Condvar(object::condvar::Condvar::default());
    let call = object::Call::Condvar(call);
    objects::call(word as usize, KIND, initial, call, code)
}

/// How many wait and have not been woken up.
fn count(word: *mut u32, change: impl FnOnce(&mut u32) -> u32) -> u32 {
    objects::with(word as usize, |known| change(&mut known.depth)).unwrap_or(0)
}

fn leave(waiters: &mut u32) -> u32 {
    *waiters = waiters.saturating_sub(1);
    *waiters
}

/// Where a system call is, and whether it is in code that says what it does to memory.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) site: usize,
    pub(crate) is_seen: bool,
    /// Where it goes on after it.
    pub(crate) called: usize,
}

/// What the word is. Whoever looks after a wait goes on to use what the word protects, perhaps in code
/// that nobody sees, so it comes after what led to the word.
fn look(word: *mut u32, code: usize) -> u32 {
    let ordering = Ordering::Acquire;
    let load = |location| Operation::Load { location, ordering };
    let seen = atomic::perform_by(word, load, |load| running().perform(code, load));
    seen.to_value() as u32
}

/// The same where the word is changed by code that nobody sees: only memory knows.
fn look_at_memory(word: *mut u32) -> u32 {
    // SAFETY: the program has a word there.
    unsafe { word.read_volatile() }
}

/// Waits while the word is as expected; an error, or 0.
pub(crate) fn wait(
    word: *mut u32,
    expected: u32,
    until: Option<std::time::Duration>,
    call_at: Place,
) -> c_int {
    let native = running();
    if let Some(until) = until
        && channels::times_out()
    {
        native.pass_time(until);
        return libc::ETIMEDOUT;
    }
    let code = call_at.site;
    let look = |word, code| match call_at.is_seen {
        true => look(word, code),
        false => look_at_memory(word),
    };
    let wait = Call::Wait {
        spurious: false,
        looked: true,
    };
    call(word, wait, code);
    count(word, |waiters| {
        *waiters += 1;
        *waiters
    });
    if look(word, code) != expected {
        let is_late = call(word, Call::Wake { timeout: true }, code).to_answer();
        if is_late {
            count(word, leave);
        } else {
            wake(word, 1, code);
        }
        return libc::EAGAIN;
    }
    let timeout = until.is_some() && native.may_time_out();
    if !call(word, Call::Wake { timeout }, code).to_answer() {
        look(word, code);
        return 0;
    }
    count(word, leave);
    native.pass_time(until.unwrap_or_default());
    libc::ETIMEDOUT
}

/// Wakes so many at most; how many that are.
pub(crate) fn wake(word: *mut u32, most: u32, code: usize) -> u32 {
    if sync::wake(word, code) {
        return 1;
    }
    let waiters = count(word, |waiters| *waiters);
    let woken = waiters.min(most);
    match most >= waiters && most > 1 {
        true => {
            call(word, Call::NotifyAll, code);
        }
        false => {
            for _ in 0..most {
                call(word, Call::NotifyOne, code);
            }
        }
    }
    count(word, |waiters| {
        *waiters = waiters.saturating_sub(woken);
        *waiters
    });
    woken
}

/// As [`watched!`](crate::abi::trampoline::watched).
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn syscall() {
    naked_asm!(
        crate::abi::trampoline::watch!(),
        // The return address, and the last argument above it.
        "push [rbx]",
        "push [rbx + 8]",
        "call {to}",
        crate::abi::trampoline::go_back!("2"),
        "ret",
        guest = sym mode::GUEST,
        top = sym trampoline::TOP,
        registers = sym trampoline::REGISTERS,
        aside = sym trampoline::ASIDE,
        region = const trampoline::REGION,
        first = const -1,
        second = const -1,
        to = sym system_call,
    )
}

/// The system call itself.
fn real(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    type Word = usize;
    // SAFETY: what the caller wanted.
    unsafe {
        let call = real!(fn syscall(c_long, Word, Word, Word, Word, Word, Word) -> c_long);
        call(number, first, second, third, fourth, fifth, sixth)
    }
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
    let place = Place {
        site: shadow_stack::users(code),
        is_seen: regions::kind(code) == Kind::User,
        called: sync::who_waits(code),
    };
    match model(number, arguments, place) {
        None => pass_on(),
        Some(Ok(result)) => result,
        Some(Err(error)) => {
            mode::set_errno(error);
            -1
        }
    }
}

/// In guest mode: a system call that is for raddle to do; its result, or an error.
pub(crate) fn model(
    number: c_long,
    arguments: [usize; 6],
    place: Place,
) -> Option<Result<c_long, c_int>> {
    match number {
        libc::SYS_futex => futex(arguments, place),
        libc::SYS_clone | libc::SYS_clone3 => {
            uncontrolled::refuse(number, arguments[0], place.site)
        }
        _ => None,
    }
}

fn futex(arguments: [usize; 6], place: Place) -> Option<Result<c_long, c_int>> {
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
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Ok(wake(word, value, place.site).into()),
        _ => {
            let until = (!time.is_null()).then(|| match wanted {
                libc::FUTEX_WAIT => time::duration(time),
                _ => time::time_left(time),
            });
            let parked = sync::park(word, value, until, (place.called, place.site));
            match parked.unwrap_or_else(|| wait(word, value, until, place)) {
                0 => Ok(0),
                error => Err(error),
            }
        }
    }))
}
