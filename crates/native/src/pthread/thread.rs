//! Threads.

use std::ffi::c_int;

use raddle_engine::{Operation, ThreadId};

use super::mutex::in_time;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::{departing, watched};
use crate::execution::{running, shadow_stack};
use crate::host::mode;
use crate::process::harness;
use crate::threads::interpose::{cancellation_points, interpose};
use crate::threads::{guests, interrupts, life};

type Attributes = *const libc::pthread_attr_t;
type Time = *const libc::timespec;

/// True if the attributes are those of a detached thread.
fn is_detached(attributes: Attributes) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getdetachstate(attributes: Attributes, state: *mut c_int) -> c_int;
    }
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the function needs attributes that were initialised, as `pthread_create` does, which the program
        // has called with these; the result is written to a variable of ours.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

fn join_with(target: ThreadId, result: GuestPtr<usize>, code: usize) -> c_int {
    match life::join(target, code) {
        Ok(value) => {
            result.set(value);
            0
        }
        Err(error) => error,
    }
}

/// Joins a thread that has ended.
fn try_join_with(name: usize, result: GuestPtr<usize>, code: usize) -> c_int {
    let Some(target) = guests::find(name) else {
        return libc::ESRCH;
    };
    if target == running().thread() {
        return libc::EDEADLK;
    }
    match life::has_ended(target, code) {
        true => join_with(target, result, code),
        false => libc::EBUSY,
    }
}

fn join_in_time(name: usize, result: GuestPtr<usize>, until: Time, code: usize) -> c_int {
    if until.is_null() {
        return match guests::find(name) {
            Some(target) => join_with(target, result, code),
            None => libc::ESRCH,
        };
    }
    in_time(try_join_with(name, result, code), until)
}

watched! {
    fn pthread_create(
        name: GuestPtr<usize>, attributes: Attributes, function: usize, argument: usize
    ) -> c_int as create("r8");
}

pub(super) extern "C" fn create(
    name: GuestPtr<usize>,
    attributes: Attributes,
    function: usize,
    argument: usize,
    code: usize,
) -> c_int {
    if !mode::is_guest() {
        type Word = usize;
        let test = harness::create(name, function, argument);
        return test.unwrap_or_else(|| {
            forward!(fn pthread_create(
                name: GuestPtr<Word>, attributes: Attributes, function: Word, argument: Word
            ) -> c_int)
        });
    }
    let code = shadow_stack::users(code);
    mode::host(move || {
        interrupts::scheduling_point(code);
        let pointer = life::create(function, argument, is_detached(attributes), code);
        name.write(pointer);
        0
    })
}

departing! {
    fn pthread_join(name: usize, result: GuestPtr<usize>) -> c_int as join("rdx");
}

pub(super) extern "C" fn join(name: usize, result: GuestPtr<usize>, code: usize) -> c_int {
    if !mode::is_guest() {
        return match harness::is_test(name) {
            true => 0,
            false => forward!(fn pthread_join(name: usize, result: GuestPtr<usize>) -> c_int),
        };
    }
    match join_guest(name, code) {
        Ok(value) => {
            if let Some(value) = value {
                result.set(value);
            }
            0
        }
        Err(error) => error,
    }
}

/// In guest mode: waits for a thread, and returns its result, or nothing if the caller was cancelled.
pub(super) fn join_guest(name: usize, code: usize) -> Result<Option<usize>, c_int> {
    let code = shadow_stack::users(code);
    mode::host(move || {
        interrupts::scheduling_point(code);
        match guests::find(name) {
            _ if !interrupts::cancellation_point(code) => Ok(None),
            Some(target) => life::join(target, code).map(Some),
            None => Err(libc::ESRCH),
        }
    })
}

watched! {
    fn pthread_detach(name: usize) -> c_int as detach("rsi");
}

pub(super) extern "C" fn detach(name: usize, code: usize) -> c_int {
    if !mode::is_guest() {
        return match harness::is_test(name) {
            true => 0,
            false => forward!(fn pthread_detach(name: usize) -> c_int),
        };
    }
    let code = shadow_stack::users(code);
    mode::host(move || {
        interrupts::scheduling_point(code);
        let Some(target) = guests::find(name) else {
            return libc::ESRCH;
        };
        guests::with(target, |guest| match guest.may_be_joined() {
            true => {
                guest.is_detached = true;
                0
            }
            false => libc::EINVAL,
        })
    })
}

interpose! {
    fn pthread_tryjoin_np(name: usize, result: GuestPtr<usize>) -> c_int as try_join("rdx") code {
        try_join_with(name, result, code)
    }

    fn sched_yield() -> c_int as yield_now("rdi") code {
        running().perform(code, |_| Operation::Yield);
        0
    }

    fn pthread_yield() -> c_int as yield_too("rdi") code {
        running().perform(code, |_| Operation::Yield);
        0
    }
}

cancellation_points! {
    fn pthread_timedjoin_np(
        name: usize, result: GuestPtr<usize>, until: Time
    ) -> c_int as join_until("rcx") code {
        join_in_time(name, result, until, code)
    }

    fn pthread_clockjoin_np(
        name: usize, result: GuestPtr<usize>, _clock: c_int, until: Time
    ) -> c_int as join_by_clock("r8") code {
        join_in_time(name, result, until, code)
    }
}
