//! Mutexes of all types.
//!
//! What the memory of a mutex says of it is only its type. A lock with a time limit gets the mutex or
//! does not, depending on whether it is free: that the limit passes before anybody unlocks is always
//! possible, and whoever unlocks in time comes before.

use std::ffi::{c_int, c_void};

use raddle_engine::Grant;
use raddle_engine::object::{self, Object, mutex::Call};

use super::interpose;
use crate::objects;

type Mutex = *mut libc::pthread_mutex_t;

const KIND: &str = "mutex";
/// Where a mutex has its type, and which bits of it.
const TYPE_FIELD: usize = 16;
const TYPE: c_int = 3;

fn type_of(mutex: Mutex) -> c_int {
    // SAFETY: the program uses a mutex there.
    let field = unsafe { mutex.cast::<u8>().add(TYPE_FIELD).cast::<c_int>().read() };
    field & TYPE
}

fn call(mutex: Mutex, call: Call, code: usize) -> Grant {
    let call = object::Call::Mutex(call);
    let initial = || Object::Mutex(object::mutex::Mutex::default());
    objects::call(mutex as usize, KIND, initial, call, code).to_grant()
}

/// Takes the mutex, waiting for it or not.
fn take(mutex: Mutex, waits: bool, code: usize) -> c_int {
    let address = mutex as usize;
    if objects::is_held(address) {
        match type_of(mutex) {
            libc::PTHREAD_MUTEX_RECURSIVE => {
                objects::with(address, |known| known.depth += 1);
                return 0;
            }
            libc::PTHREAD_MUTEX_ERRORCHECK if waits => return libc::EDEADLK,
            _ => {}
        }
    }
    let wanted = if waits { Call::Lock } else { Call::TryLock };
    match call(mutex, wanted, code) {
        Grant::Refused => libc::EBUSY,
        Grant::Taken { .. } => {
            objects::hold(address);
            0
        }
    }
}

fn give_back(mutex: Mutex, code: usize) -> c_int {
    let address = mutex as usize;
    if type_of(mutex) != libc::PTHREAD_MUTEX_NORMAL && !objects::is_held(address) {
        let is_checked = type_of(mutex) != libc::PTHREAD_MUTEX_ADAPTIVE_NP;
        if is_checked {
            return libc::EPERM;
        }
    }
    let left = objects::with(address, |known| {
        known.depth = known.depth.saturating_sub(1);
        known.depth
    });
    if left.is_none_or(|left| left == 0) {
        objects::let_go(address);
        call(mutex, Call::Unlock { poison: false }, code);
    }
    0
}

/// Gives the mutex back, however many times over the running thread has it; how many times that is.
pub(super) fn let_go(mutex: Mutex, code: usize) -> u32 {
    let depth = objects::with(mutex as usize, |known| known.depth);
    objects::let_go(mutex as usize);
    call(mutex, Call::Unlock { poison: false }, code);
    depth.unwrap_or(1)
}

/// Takes the mutex again, as many times over.
pub(super) fn take_again(mutex: Mutex, depth: u32, code: usize) {
    call(mutex, Call::Lock, code);
    objects::hold(mutex as usize);
    objects::with(mutex as usize, |known| known.depth = depth);
}

interpose! {
    fn pthread_mutex_init(mutex: Mutex, attributes: *const c_void) -> c_int as init("rdx") _code {
        objects::forget(mutex as usize..mutex as usize + 1);
        // SAFETY: what the program asked for.
        unsafe {
            crate::real::real!(fn pthread_mutex_init(Mutex, *const c_void) -> c_int)(mutex, attributes)
        }
    }

    fn pthread_mutex_destroy(mutex: Mutex) -> c_int as destroy("rsi") _code {
        objects::forget(mutex as usize..mutex as usize + 1);
        0
    }

    fn pthread_mutex_lock(mutex: Mutex) -> c_int as lock("rsi") code {
        take(mutex, true, code)
    }

    fn pthread_mutex_trylock(mutex: Mutex) -> c_int as try_lock("rsi") code {
        take(mutex, false, code)
    }

    fn pthread_mutex_timedlock(mutex: Mutex, _until: *const libc::timespec) -> c_int as timed_lock("rdx") code {
        in_time(take(mutex, false, code))
    }

    fn pthread_mutex_clocklock(
        mutex: Mutex, _clock: c_int, _until: *const libc::timespec
    ) -> c_int as clock_lock("rcx") code {
        in_time(take(mutex, false, code))
    }

    fn pthread_mutex_unlock(mutex: Mutex) -> c_int as unlock("rsi") code {
        give_back(mutex, code)
    }
}

/// What is busy is busy until the time is over.
pub(super) fn in_time(result: c_int) -> c_int {
    match result {
        libc::EBUSY => libc::ETIMEDOUT,
        result => result,
    }
}
