//! The threads of C11, which are those of POSIX under other names. The C library's versions do not
//! call the functions of POSIX by name.

use std::ffi::{c_int, c_void};

use super::{condvar, keys, mutex, once, thread};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::departing;
use crate::host::mode::{self, is_guest};
use crate::threads::time;

type Mutex = *mut libc::pthread_mutex_t;
type Condvar = *mut libc::pthread_cond_t;
type Time = *const libc::timespec;

const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// Converts an error of POSIX to one of C11.
fn result(error: c_int) -> c_int {
    match error {
        0 => 0,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Defines functions that call one of POSIX and convert its errors.
macro_rules! as_posix {
    ($(fn $name:ident($($argument:ident: $type:ty),*) as $to:ident($register:literal)
        calls $module:ident::$function:ident;)*) => {
        $(
            extern "C" fn $to($($argument: $type,)* code: usize) -> c_int {
                result($module::$function($($argument,)* code))
            }

            departing! {
                fn $name($($argument: $type),*) -> c_int as $to($register);
            }
        )*
    };
}

as_posix! {
    fn mtx_lock(mutex: Mutex) as lock("rsi") calls mutex::lock;
    fn mtx_trylock(mutex: Mutex) as try_lock("rsi") calls mutex::try_lock;
    fn mtx_timedlock(mutex: Mutex, until: Time) as timed_lock("rdx") calls mutex::timed_lock;
    fn mtx_unlock(mutex: Mutex) as unlock("rsi") calls mutex::unlock;
    fn cnd_wait(condvar: Condvar, mutex: Mutex) as wait("rdx") calls condvar::wait;
    fn cnd_timedwait(condvar: Condvar, mutex: Mutex, until: Time) as timed_wait("rcx")
        calls condvar::timed_wait;
    fn cnd_signal(condvar: Condvar) as signal("rsi") calls condvar::signal;
    fn cnd_broadcast(condvar: Condvar) as broadcast("rsi") calls condvar::broadcast;
    fn thrd_detach(name: usize) as detach("rsi") calls thread::detach;
}

departing! {
    fn thrd_create(name: GuestPtr<usize>, function: usize, argument: usize) -> c_int as create("rcx");
    fn thrd_join(name: usize, to: GuestPtr<c_int>) -> c_int as join("rdx");
    fn thrd_yield() -> () as yield_now("rdi");
    fn thrd_sleep(time: Time, left: GuestPtr<libc::timespec>) -> c_int as sleep("rdx");
    fn mtx_init(mutex: Mutex, kind: c_int) -> c_int as init("rdx");
    fn mtx_destroy(mutex: Mutex) -> () as destroy("rsi");
    fn cnd_init(condvar: Condvar) -> c_int as init_condvar("rsi");
    fn cnd_destroy(condvar: Condvar) -> () as destroy_condvar("rsi");
    fn call_once(flag: GuestPtr<c_int>, function: extern "C-unwind" fn()) -> () as do_once("rdx");
    fn tss_set(key: u32, value: usize) -> c_int as set("rdx");
    fn tss_get(key: u32) -> *mut c_void as get("rsi");
}

extern "C" fn create(
    name: GuestPtr<usize>,
    function: usize,
    argument: usize,
    code: usize,
) -> c_int {
    if !is_guest() {
        return forward!(fn thrd_create(name: GuestPtr<usize>, function: usize, argument: usize) -> c_int);
    }
    result(thread::create(
        name,
        std::ptr::null(),
        function,
        argument,
        code,
    ))
}

extern "C" fn join(name: usize, to: GuestPtr<c_int>, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn thrd_join(name: usize, to: GuestPtr<c_int>) -> c_int);
    }
    match thread::join_guest(name, code) {
        Ok(value) => {
            if let Some(value) = value {
                to.set(value as c_int);
            }
            0
        }
        Err(error) => result(error),
    }
}

extern "C" fn yield_now(code: usize) {
    thread::yield_now(code);
}

extern "C" fn sleep(time: Time, left: GuestPtr<libc::timespec>, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn thrd_sleep(time: Time, left: GuestPtr<libc::timespec>) -> c_int);
    }
    mode::host(|| time::sleep_for(time::duration(time), code));
    0
}

extern "C" fn init(mutex: Mutex, kind: c_int, code: usize) -> c_int {
    mutex::init(mutex, std::ptr::null(), code);
    forward!(fn mtx_init(mutex: Mutex, kind: c_int) -> c_int)
}

extern "C" fn destroy(mutex: Mutex, code: usize) {
    mutex::destroy(mutex, code);
}

extern "C" fn init_condvar(condvar: Condvar, code: usize) -> c_int {
    result(condvar::init(condvar, std::ptr::null(), code))
}

extern "C" fn destroy_condvar(condvar: Condvar, code: usize) {
    condvar::destroy(condvar, code);
}

extern "C" fn do_once(flag: GuestPtr<c_int>, function: extern "C-unwind" fn(), code: usize) {
    once::do_once(flag, function, code);
}

extern "C" fn set(key: u32, value: usize, code: usize) -> c_int {
    result(keys::set(key, value, code))
}

extern "C" fn get(key: u32, code: usize) -> *mut c_void {
    keys::get(key, code)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn tss_create(key: GuestPtr<u32>, destructor: usize) -> c_int {
    result(keys::pthread_key_create(key, destructor))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn tss_delete(key: u32) {
    keys::pthread_key_delete(key);
}
