//! Spin locks: mutexes for the engine.

use std::ffi::c_int;

use raddle_engine::object::{self, Object, mutex::Call};
use raddle_engine::{Grant, Reply};

use super::object_life::PosixObject;
use crate::abi::real::forward;
use crate::memory::objects;
use crate::threads::interpose::interpose;

type Spin = *mut c_int;

const KIND: &str = "spinlock";

fn call(lock: Spin, call: Call, code: usize) -> Reply {
    let call = object::Call::Mutex(call);
    let initial = || Object::Mutex(object::mutex::Mutex::default());
    posix_object(lock).during(code, || {
        objects::call(lock as usize, KIND, initial, call, code)
    })
}

fn posix_object(lock: Spin) -> PosixObject {
    PosixObject {
        address: lock as usize,
        size: size_of::<c_int>(),
        what: "uses a spin lock",
    }
}

fn lock(lock: Spin, wanted: Call, code: usize) -> c_int {
    match call(lock, wanted, code).to_grant() {
        Grant::Refused => libc::EBUSY,
        Grant::Taken { .. } => 0,
    }
}

interpose! {
    fn pthread_spin_init(lock: Spin, shared: c_int) -> c_int as init("rdx") code {
        posix_object(lock).initialise(code);
        objects::forget(lock as usize..lock as usize + 1);
        forward!(fn pthread_spin_init(lock: Spin, shared: c_int) -> c_int)
    }

    fn pthread_spin_destroy(lock: Spin) -> c_int as destroy("rsi") code {
        posix_object(lock).destroy(code);
        objects::forget(lock as usize..lock as usize + 1);
        0
    }

    fn pthread_spin_lock(lock: Spin) -> c_int as take("rsi") code {
        self::lock(lock, Call::Lock, code)
    }

    fn pthread_spin_trylock(lock: Spin) -> c_int as try_take("rsi") code {
        self::lock(lock, Call::TryLock, code)
    }

    fn pthread_spin_unlock(lock: Spin) -> c_int as give_back("rsi") code {
        call(lock, Call::Unlock { poison: false }, code);
        0
    }
}
