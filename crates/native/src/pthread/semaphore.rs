//! Semaphores. The number of permits is kept in memory too, for `sem_getvalue`.

use std::ffi::{c_int, c_uint};

use raddle_engine::object::{self, Object, semaphore::Call};
use raddle_engine::{Grant, Reply};

use super::mutex::in_time;
use super::object_life::PosixObject;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::{departing, watched};
use crate::host::mode::{self, host, is_guest};
use crate::memory::objects;
use crate::threads::interpose::interpose;
use crate::threads::queues::{self, QueueKey};
use crate::threads::requests::{self, Interrupt};
use crate::threads::{interrupts, signals};

type Semaphore = GuestPtr<libc::sem_t>;
type Time = *const libc::timespec;

const KIND: &str = "semaphore";

/// Returns the address of the number of permits, as the C library keeps it on 64-bit systems.
fn permits(semaphore: Semaphore) -> GuestPtr<u32> {
    semaphore.cast()
}

fn posix_object(semaphore: Semaphore) -> PosixObject {
    PosixObject {
        address: semaphore.address(),
        size: size_of::<libc::sem_t>(),
        what: "uses a semaphore",
    }
}

fn call(semaphore: Semaphore, call: Call, code: usize) -> Reply {
    call_by(semaphore, call, code, |initial, wanted| {
        objects::call(semaphore.address(), KIND, initial, wanted, code)
    })
}

/// Tries to take a permit, for a thread that will wait if it is refused.
fn ask(semaphore: Semaphore, code: usize) -> Reply {
    call_by(semaphore, Call::TryAcquire, code, |initial, wanted| {
        objects::call_without_a_look(semaphore.address(), KIND, initial, wanted, code)
    })
}

fn call_by(
    semaphore: Semaphore,
    call: Call,
    code: usize,
    perform: impl FnOnce(&dyn Fn() -> Object, object::Call) -> Reply,
) -> Reply {
    let permits = permits(semaphore);
    let initial = || Object::Semaphore(object::semaphore::Semaphore::counting(permits.read()));
    let wanted = object::Call::Semaphore(call);
    let reply = posix_object(semaphore).during(code, || perform(&initial, wanted));
    match call {
        Call::Release => permits.write(permits.read() + 1),
        _ if reply.to_grant() != Grant::Refused => permits.write(permits.read().saturating_sub(1)),
        _ => {}
    }
    reply
}

watched! {
    fn sem_trywait(semaphore: Semaphore) -> c_int as try_wait("rsi");
}

departing! {
    fn sem_wait(semaphore: Semaphore) -> c_int as wait("rsi");
    fn sem_timedwait(semaphore: Semaphore, until: Time) -> c_int as timed_wait("rdx");
    fn sem_clockwait(semaphore: Semaphore, clock: c_int, until: Time) -> c_int as clock_wait("rcx");
}

/// Takes a permit if there is one; sets `errno` to the given error otherwise.
fn take(semaphore: Semaphore, code: usize, error: impl FnOnce() -> c_int) -> c_int {
    let error = host(
        || match call(semaphore, Call::TryAcquire, code).to_grant() {
            Grant::Refused => error(),
            Grant::Taken { .. } => 0,
        },
    );
    if error == 0 {
        return 0;
    }
    mode::set_errno(error);
    -1
}

extern "C" fn wait(semaphore: Semaphore, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sem_wait(semaphore: Semaphore) -> c_int);
    }
    match host(|| wait_for(semaphore, code)) {
        true => 0,
        false => {
            mode::set_errno(libc::EINTR);
            -1
        }
    }
}

/// Takes a permit; returns false if the wait was interrupted.
fn wait_for(semaphore: Semaphore, code: usize) -> bool {
    if !requests::are_possible() {
        call(semaphore, Call::Acquire, code);
        return true;
    }
    interrupts::scheduling_point(code);
    if !interrupts::cancellation_point(code) {
        return false;
    }
    let is_taken = || ask(semaphore, code).to_grant() != Grant::Refused;
    let place = place(semaphore);
    loop {
        if is_taken() {
            return true;
        }
        queues::synchronize(place, code);
        let waiter = queues::new_waiter(KIND);
        queues::enqueue(place, waiter);
        // A thread may have released a permit before the waiter was enqueued.
        let is_here = is_taken();
        let interrupt = match is_here {
            true => Interrupt::None,
            false => requests::wait(waiter, code),
        };
        queues::synchronize(place, code);
        queues::remove(place, waiter);
        if is_here {
            return true;
        }
        if interrupt != Interrupt::None {
            let handled = interrupts::act(interrupt, code);
            if !handled || !signals::restarts() {
                return false;
            }
        }
    }
}

/// Returns the queue of threads that wait for a permit, if the wait may be interrupted.
fn place(semaphore: Semaphore) -> QueueKey {
    QueueKey {
        address: semaphore.address(),
        kind: KIND,
    }
}

extern "C" fn try_wait(semaphore: Semaphore, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sem_trywait(semaphore: Semaphore) -> c_int);
    }
    take(semaphore, code, || libc::EAGAIN)
}

extern "C" fn timed_wait(semaphore: Semaphore, until: Time, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sem_timedwait(semaphore: Semaphore, until: Time) -> c_int);
    }
    match host(|| interrupts::cancellation_point(code)) {
        true => take(semaphore, code, || in_time(libc::EBUSY, until)),
        false => 0,
    }
}

extern "C" fn clock_wait(semaphore: Semaphore, clock: c_int, until: Time, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sem_clockwait(semaphore: Semaphore, clock: c_int, until: Time) -> c_int);
    }
    match host(|| interrupts::cancellation_point(code)) {
        true => take(semaphore, code, || in_time(libc::EBUSY, until)),
        false => 0,
    }
}

interpose! {
    fn sem_init(semaphore: Semaphore, shared: c_int, value: c_uint) -> c_int as init("rcx") code {
        posix_object(semaphore).initialise(code);
        objects::forget(semaphore.address()..semaphore.address() + 1);
        forward!(fn sem_init(semaphore: Semaphore, shared: c_int, value: c_uint) -> c_int)
    }

    fn sem_destroy(semaphore: Semaphore) -> c_int as destroy("rsi") code {
        posix_object(semaphore).destroy(code);
        objects::forget(semaphore.address()..semaphore.address() + 1);
        0
    }

    fn sem_post(semaphore: Semaphore) -> c_int as post("rsi") code {
        call(semaphore, Call::Release, code);
        if requests::are_possible() {
            queues::synchronize(place(semaphore), code);
            queues::wake_all(place(semaphore), code);
        }
        0
    }
}
