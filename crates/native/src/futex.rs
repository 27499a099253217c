//! Futexes, which programs use through `syscall`: those of C++20 and of Rust's standard library.
//!
//! Who waits first becomes a waiter and then looks at the word, so that a change in between is not
//! missed. If the word is not what it should be, the waiter leaves again, and passes on the wake-up that
//! may have reached it by then: to its neighbours that is one that took a little longer.

use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_long};
use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, condvar::Call};
use raddle_engine::{Operation, Reply};

use crate::execution::running;
use crate::mode::{self, host, is_guest};
use crate::objects;
use crate::time;
use crate::trampoline;
use crate::tsan::{atomic, calls};

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

/// What the word is. Whoever looks after a wait goes on to use what the word protects, perhaps in code
/// that nobody sees, so it comes after what led to the word.
fn look(word: *mut u32, code: usize) -> u32 {
    let ordering = Ordering::Acquire;
    let load = |location| Operation::Load { location, ordering };
    let seen = atomic::perform_by(word, load, |load| running().perform(code, load));
    seen.to_value() as u32
}

/// Waits while the word is as expected; an error, or 0.
fn wait(word: *mut u32, expected: u32, until: Option<std::time::Duration>, code: usize) -> c_int {
    let native = running();
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
fn wake(word: *mut u32, most: u32, code: usize) -> u32 {
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

/// Says where the caller's stack begins, with the address that this returns to, if a guest calls.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn syscall() {
    naked_asm!(
        "mov rax, fs:[0x10]",
        "cmp rax, [rip + {guest}]",
        "jne 2f",
        "mov [rip + {top}], rsp",
        "2:",
        "jmp {to}",
        guest = sym mode::GUEST,
        top = sym trampoline::TOP,
        to = sym system_call,
    )
}

/// The system call itself.
fn real(number: c_long, arguments: [usize; 6]) -> c_long {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: c_long;
    // SAFETY: what the caller wanted.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) {
        mode::set_errno(-result as c_int);
        return -1;
    }
    result
}

extern "C" fn system_call(
    number: c_long,
    word: usize,
    operation: usize,
    value: usize,
    time: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let wanted = operation as c_int & OPERATION;
    let is_known = matches!(
        wanted,
        libc::FUTEX_WAIT | libc::FUTEX_WAKE | libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET
    );
    if !is_guest() || number != libc::SYS_futex || !is_known {
        return real(number, [word, operation, value, time, fifth, sixth]);
    }
    // SAFETY: the stack of the calling guest begins with the address that it goes on at.
    let code = unsafe { (trampoline::top() as *const usize).read() };
    let code = calls::users(code);
    let (word, value) = (word as *mut u32, value as u32);
    let time = time as *const libc::timespec;
    let result = host(|| match wanted {
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => Ok(wake(word, value, code)),
        _ => {
            let until = (!time.is_null()).then(|| match wanted {
                libc::FUTEX_WAIT => time::duration(time),
                _ => time::time_left(time),
            });
            match wait(word, value, until, code) {
                0 => Ok(0),
                error => Err(error),
            }
        }
    });
    match result {
        Ok(woken) => woken.into(),
        Err(error) => {
            mode::set_errno(error);
            -1
        }
    }
}
