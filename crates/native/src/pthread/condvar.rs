//! Condition variables.

use std::ffi::{c_int, c_void};

use raddle_engine::object::{self, Object, condvar::Call};
use raddle_engine::{Operation, Reply};

use super::mutex;
use super::object_life::PosixObject;
use crate::abi::caller;
use crate::abi::real::forward;
use crate::engine::protocol::condvar::{Wait, Waiter, first};
use crate::execution::{Guest, running};
use crate::memory::objects;
use crate::threads::interpose::{cancellation_points, interpose};
use crate::threads::queues::{self, QueueKey};
use crate::threads::requests::{self, Interrupt};
use crate::threads::{interrupts, time};

type Condvar = *mut libc::pthread_cond_t;
type Mutex = *mut libc::pthread_mutex_t;
type Time = *const libc::timespec;

const KIND: &str = "condvar";

fn initial() -> Object {
    Object::Condvar(object::condvar::Condvar::default())
}

fn call(condvar: Condvar, call: Call, code: usize) -> Reply {
    let perform = || objects::call(condvar as usize, KIND, initial, call, code);
    match call {
        // A condition variable may be destroyed when its waiters are notified.
        Call::Wake { .. } => perform(),
        _ => posix_object(condvar).during(code, perform),
    }
}

fn posix_object(condvar: Condvar) -> PosixObject {
    PosixObject {
        address: condvar as usize,
        size: size_of::<libc::pthread_cond_t>(),
        what: "uses a condition variable",
    }
}

fn place(condvar: Condvar) -> QueueKey {
    QueueKey {
        address: condvar as usize,
        kind: KIND,
    }
}

/// As [`wait_for`], in a program where cancellations or signals may interrupt the wait.
fn wait_interruptibly(condvar: Condvar, mutex: Mutex, until: Option<Time>, code: usize) -> c_int {
    let native = running();
    let place = place(condvar);
    let timeout = until.is_some() && native.may_time_out();
    posix_object(condvar).during(code, || queues::synchronize(place, code));
    let waiter = queues::new_waiter(KIND);
    queues::enqueue(place, waiter);
    let depth = mutex::let_go(mutex, code);
    // The timeout may always come before any notification; a later one adds no class.
    let interrupt = match until.filter(|_| timeout) {
        // Other threads may run meanwhile.
        Some(until) => {
            let time = time::time_left(until);
            native.perform(code, |_| Operation::Sleep { time });
            Interrupt::None
        }
        None => requests::wait(waiter, code),
    };
    queues::synchronize(place, code);
    let was_woken = queues::remove(place, waiter);
    let mut goes_on = true;
    if !was_woken && let Some(until) = until.filter(|_| interrupt == Interrupt::None) {
        native.pass_time(time::time_left(until));
    }
    let lost = mutex::take_again(mutex, depth, code);
    // A notified thread leaves the request for later; so does one that only has to handle a signal.
    if !was_woken {
        goes_on = interrupts::act(interrupt, code);
    }
    match was_woken || interrupt != Interrupt::None || !goes_on {
        true => lost,
        false => libc::ETIMEDOUT,
    }
}

fn wait_for(condvar: Condvar, mutex: Mutex, until: Option<Time>, code: usize) -> c_int {
    if requests::are_possible() {
        return wait_interruptibly(condvar, mutex, until, code);
    }
    let top = caller::top();
    let timeout = until.is_some() && running().may_time_out();
    let first = first(Guest, true, true);
    // A loop may repeat a wait that times out, from its first operation or from its lock.
    let reply = match timeout {
        true => posix_object(condvar).during(code, || {
            objects::call_of_a_round(condvar as usize, KIND, initial, first, (code, top))
        }),
        false => call(condvar, first, code),
    };
    let wait = Wait {
        time: until.map(|until| move || time::time_left(until)),
        spurious: true,
        looked: true,
        call: |wanted| call(condvar, wanted, code),
    };
    let unlock = || mutex::let_go(mutex, code);
    let lock = |depth, timed_out| match timed_out {
        true => {
            mutex::take_again_in_a_round(mutex, depth, (code, top));
            libc::ETIMEDOUT
        }
        false => mutex::take_again(mutex, depth, code),
    };
    wait.finish(Waiter::new(timeout, reply), Guest, unlock, lock)
}

interpose! {
    fn pthread_cond_init(condvar: Condvar, attributes: *const c_void) -> c_int as init("rdx") code {
        posix_object(condvar).initialise(code);
        objects::forget(condvar as usize..condvar as usize + 1);
        forward!(fn pthread_cond_init(condvar: Condvar, attributes: *const c_void) -> c_int)
    }

    fn pthread_cond_destroy(condvar: Condvar) -> c_int as destroy("rsi") code {
        posix_object(condvar).destroy(code);
        objects::forget(condvar as usize..condvar as usize + 1);
        0
    }

    fn pthread_cond_signal(condvar: Condvar) -> c_int as signal("rsi") code {
        match requests::are_possible() {
            true => {
                posix_object(condvar).during(code, || queues::wake_one(place(condvar), code));
            }
            false => {
                call(condvar, Call::NotifyOne, code);
            }
        }
        0
    }

    fn pthread_cond_broadcast(condvar: Condvar) -> c_int as broadcast("rsi") code {
        match requests::are_possible() {
            true => {
                posix_object(condvar).during(code, || {
                    queues::synchronize(place(condvar), code);
                });
                queues::wake_all(place(condvar), code);
            }
            false => {
                call(condvar, Call::NotifyAll, code);
            }
        }
        0
    }
}

cancellation_points! {
    fn pthread_cond_wait(condvar: Condvar, mutex: Mutex) -> c_int as wait("rdx") code {
        wait_for(condvar, mutex, None, code)
    }

    fn pthread_cond_timedwait(
        condvar: Condvar, mutex: Mutex, until: Time
    ) -> c_int as timed_wait("rcx") code {
        wait_for(condvar, mutex, Some(until), code)
    }

    fn pthread_cond_clockwait(
        condvar: Condvar, mutex: Mutex, _clock: c_int, until: Time
    ) -> c_int as clock_wait("r8") code {
        wait_for(condvar, mutex, Some(until), code)
    }
}
