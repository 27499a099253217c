//! Semaphores. How many permits there are is kept in memory too, where `sem_getvalue` looks.

use std::ffi::{c_int, c_uint};

use raddle_engine::Grant;
use raddle_engine::object::{self, Object, semaphore::Call};

use super::interpose;
use crate::mode::{self, host, is_guest};
use crate::objects;
use crate::trampoline::watched;

type Semaphore = *mut libc::sem_t;
type Time = *const libc::timespec;

const KIND: &str = "semaphore";

/// The number of permits, as the C library keeps it on 64-bit systems.
fn permits(semaphore: Semaphore) -> *mut u32 {
    semaphore.cast()
}

fn call(semaphore: Semaphore, call: Call, code: usize) -> Grant {
    let permits = permits(semaphore);
    // SAFETY: the program has a semaphore there.
    let initial = || unsafe { Object::Semaphore(object::semaphore::Semaphore::counting(*permits)) };
    let wanted = object::Call::Semaphore(call);
    let grant = objects::call(semaphore as usize, KIND, initial, wanted, code).to_grant();
    // SAFETY: as above.
    unsafe {
        match call {
            Call::Release => *permits += 1,
            _ if grant != Grant::Refused => *permits = (*permits).saturating_sub(1),
            _ => {}
        }
    }
    grant
}

watched! {
    fn sem_wait(semaphore: Semaphore) -> c_int as wait("rsi");
    fn sem_trywait(semaphore: Semaphore) -> c_int as try_wait("rsi");
    fn sem_timedwait(semaphore: Semaphore, until: Time) -> c_int as timed_wait("rdx");
    fn sem_clockwait(semaphore: Semaphore, clock: c_int, until: Time) -> c_int as clock_wait("rcx");
}

/// Takes a permit if there is one; what to find in `errno` otherwise is said.
fn take(semaphore: Semaphore, error: c_int, code: usize) -> c_int {
    match host(|| call(semaphore, Call::TryAcquire, code)) {
        Grant::Refused => {
            mode::set_errno(error);
            -1
        }
        Grant::Taken { .. } => 0,
    }
}

extern "C" fn wait(semaphore: Semaphore, code: usize) -> c_int {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe { crate::real::real!(fn sem_wait(Semaphore) -> c_int)(semaphore) };
    }
    host(|| call(semaphore, Call::Acquire, code));
    0
}

extern "C" fn try_wait(semaphore: Semaphore, code: usize) -> c_int {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe { crate::real::real!(fn sem_trywait(Semaphore) -> c_int)(semaphore) };
    }
    take(semaphore, libc::EAGAIN, code)
}

extern "C" fn timed_wait(semaphore: Semaphore, until: Time, code: usize) -> c_int {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe {
            crate::real::real!(fn sem_timedwait(Semaphore, Time) -> c_int)(semaphore, until)
        };
    }
    take(semaphore, libc::ETIMEDOUT, code)
}

extern "C" fn clock_wait(semaphore: Semaphore, clock: c_int, until: Time, code: usize) -> c_int {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe {
            crate::real::real!(fn sem_clockwait(Semaphore, c_int, Time) -> c_int)(
                semaphore, clock, until,
            )
        };
    }
    take(semaphore, libc::ETIMEDOUT, code)
}

interpose! {
    fn sem_init(semaphore: Semaphore, shared: c_int, value: c_uint) -> c_int as init("rcx") _code {
        objects::forget(semaphore as usize..semaphore as usize + 1);
        // SAFETY: what the program asked for.
        unsafe {
            crate::real::real!(fn sem_init(Semaphore, c_int, c_uint) -> c_int)(semaphore, shared, value)
        }
    }

    fn sem_destroy(semaphore: Semaphore) -> c_int as destroy("rsi") _code {
        objects::forget(semaphore as usize..semaphore as usize + 1);
        0
    }

    fn sem_post(semaphore: Semaphore) -> c_int as post("rsi") code {
        call(semaphore, Call::Release, code);
        0
    }
}
