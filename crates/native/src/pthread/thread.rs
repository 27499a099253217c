//! Threads.

use std::ffi::c_int;

use raddle_engine::{Operation, ThreadId};

use super::mutex::in_time;
use crate::abi::real::real;
use crate::abi::trampoline::{departing, watched};
use crate::execution::{running, shadow_stack};
use crate::host::mode;
use crate::process::harness;
use crate::threads::interpose::{cancellation_points, interpose};
use crate::threads::{guests, interrupts, life};

type Attributes = *const libc::pthread_attr_t;
type Time = *const libc::timespec;

/// True if the attributes say that the thread is detached.
fn is_detached(attributes: Attributes) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getdetachstate(attributes: Attributes, state: *mut c_int) -> c_int;
    }
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the program gave attributes that it has made.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

fn join_with(target: ThreadId, result: *mut usize, code: usize) -> c_int {
    match life::join(target, code) {
        Ok(value) => {
            if !result.is_null() {
                // SAFETY: the program says where it wants the result.
                unsafe { result.write(value) };
            }
            0
        }
        Err(error) => error,
    }
}

/// Joins a thread that has ended.
fn try_join_with(name: usize, result: *mut usize, code: usize) -> c_int {
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

fn join_in_time(name: usize, result: *mut usize, until: Time, code: usize) -> c_int {
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
        name: *mut usize, attributes: Attributes, function: usize, argument: usize
    ) -> c_int as create("r8");
}

pub(super) extern "C" fn create(
    name: *mut usize,
    attributes: Attributes,
    function: usize,
    argument: usize,
    code: usize,
) -> c_int {
    if !mode::is_guest() {
        type Word = usize;
        let create = real!(fn pthread_create(*mut Word, Attributes, Word, Word) -> c_int);
        let test = harness::create(name, function, argument);
        // SAFETY: what the caller wanted.
        return test.unwrap_or_else(|| unsafe { create(name, attributes, function, argument) });
    }
    let code = shadow_stack::users(code);
    mode::host(move || {
        interrupts::scheduling_point(code);
        let pointer = life::create(function, argument, is_detached(attributes), code);
        // SAFETY: the program says where it wants the name of the thread.
        unsafe { name.write(pointer) };
        0
    })
}

departing! {
    fn pthread_join(name: usize, result: *mut usize) -> c_int as join("rdx");
}

pub(super) extern "C" fn join(name: usize, result: *mut usize, code: usize) -> c_int {
    if !mode::is_guest() {
        return match harness::is_test(name) {
            true => 0,
            // SAFETY: what the caller wanted.
            false => unsafe { real!(fn pthread_join(usize, *mut usize) -> c_int)(name, result) },
        };
    }
    let code = shadow_stack::users(code);
    mode::host(move || {
        interrupts::scheduling_point(code);
        match guests::find(name) {
            _ if !interrupts::cancellation_point(code) => 0,
            Some(target) => join_with(target, result, code),
            None => libc::ESRCH,
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
            // SAFETY: what the caller wanted.
            false => unsafe { real!(fn pthread_detach(usize) -> c_int)(name) },
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
    fn pthread_tryjoin_np(name: usize, result: *mut usize) -> c_int as try_join("rdx") code {
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
        name: usize, result: *mut usize, until: Time
    ) -> c_int as join_until("rcx") code {
        join_in_time(name, result, until, code)
    }

    fn pthread_clockjoin_np(
        name: usize, result: *mut usize, _clock: c_int, until: Time
    ) -> c_int as join_by_clock("r8") code {
        join_in_time(name, result, until, code)
    }
}
