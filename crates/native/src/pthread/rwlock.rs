//! Readers-writer locks.

use std::ffi::{c_int, c_void};

use raddle_engine::object::{self, Object, rwlock::Call};
use raddle_engine::{Grant, Reply};

use super::mutex::in_time;
use super::object_life::PosixObject;
use crate::abi::real::forward;
use crate::memory::objects;
use crate::threads::interpose::interpose;

type RwLock = *mut libc::pthread_rwlock_t;
type Time = *const libc::timespec;

const KIND: &str = "rwlock";

fn call(lock: RwLock, call: Call, code: usize) -> Reply {
    let initial = || Object::RwLock(object::rwlock::RwLock::default());
    posix_object(lock).during(code, || {
        objects::call(lock as usize, KIND, initial, call, code)
    })
}

fn posix_object(lock: RwLock) -> PosixObject {
    PosixObject {
        address: lock as usize,
        size: size_of::<libc::pthread_rwlock_t>(),
        what: "uses a readers-writer lock",
    }
}

fn take(lock: RwLock, wanted: Call, code: usize) -> c_int {
    let writes = object::Call::from(wanted).takes_alone();
    match call(lock, wanted, code).to_grant() {
        Grant::Refused => libc::EBUSY,
        Grant::Taken { .. } => {
            if writes {
                objects::hold(lock as usize);
            }
            0
        }
    }
}

interpose! {
    fn pthread_rwlock_init(lock: RwLock, attributes: *const c_void) -> c_int as init("rdx") code {
        posix_object(lock).initialise(code);
        objects::forget(lock as usize..lock as usize + 1);
        forward!(fn pthread_rwlock_init(lock: RwLock, attributes: *const c_void) -> c_int)
    }

    fn pthread_rwlock_destroy(lock: RwLock) -> c_int as destroy("rsi") code {
        posix_object(lock).destroy(code);
        objects::forget(lock as usize..lock as usize + 1);
        0
    }

    fn pthread_rwlock_rdlock(lock: RwLock) -> c_int as read("rsi") code {
        if objects::is_held(lock as usize) {
            return libc::EDEADLK;
        }
        take(lock, Call::Read, code)
    }

    fn pthread_rwlock_tryrdlock(lock: RwLock) -> c_int as try_read("rsi") code {
        take(lock, Call::TryRead, code)
    }

    fn pthread_rwlock_timedrdlock(lock: RwLock, until: Time) -> c_int as timed_read("rdx") code {
        in_time(take(lock, Call::TryRead, code), until)
    }

    fn pthread_rwlock_clockrdlock(
        lock: RwLock, _clock: c_int, until: Time
    ) -> c_int as clock_read("rcx") code {
        in_time(take(lock, Call::TryRead, code), until)
    }

    fn pthread_rwlock_wrlock(lock: RwLock) -> c_int as write("rsi") code {
        if objects::is_held(lock as usize) {
            return libc::EDEADLK;
        }
        take(lock, Call::Write, code)
    }

    fn pthread_rwlock_trywrlock(lock: RwLock) -> c_int as try_write("rsi") code {
        take(lock, Call::TryWrite, code)
    }

    fn pthread_rwlock_timedwrlock(lock: RwLock, until: Time) -> c_int as timed_write("rdx") code {
        in_time(take(lock, Call::TryWrite, code), until)
    }

    fn pthread_rwlock_clockwrlock(
        lock: RwLock, _clock: c_int, until: Time
    ) -> c_int as clock_write("rcx") code {
        in_time(take(lock, Call::TryWrite, code), until)
    }

    fn pthread_rwlock_unlock(lock: RwLock) -> c_int as unlock("rsi") code {
        let unlock = match objects::is_held(lock as usize) {
            true => Call::WriteUnlock { poison: false },
            false => Call::ReadUnlock,
        };
        objects::let_go(lock as usize);
        call(lock, unlock, code);
        0
    }
}
