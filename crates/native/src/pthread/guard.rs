//! Variables of C++ functions that are initialised at their first use. The compiler reads the first
//! byte of a guard itself, as an atomic, before it calls these.

use std::ffi::c_int;

use raddle_engine::object::{self, Object, once::Call};
use raddle_engine::{Grant, Reply};

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::watched;
use crate::host::mode::{host, is_guest};
use crate::memory::objects;
use crate::threads::atomics::{self, AtomicSite};

const KIND: &str = "guard";
const RELEASE: c_int = 3;

fn call(guard: GuestPtr<u8>, call: Call, code: usize) -> Reply {
    let initial = || Object::Once(object::once::Once::New);
    let call = object::Call::Once(call);
    objects::call(guard.address(), KIND, initial, call, code)
}

watched! {
    fn __cxa_guard_acquire(guard: GuestPtr<u8>) -> c_int as acquire("rsi");
    fn __cxa_guard_release(guard: GuestPtr<u8>) -> () as release("rsi");
    fn __cxa_guard_abort(guard: GuestPtr<u8>) -> () as abort("rsi");
}

/// Returns 1 if the caller must initialise the variable, and 0 otherwise.
extern "C" fn acquire(guard: GuestPtr<u8>, code: usize) -> c_int {
    if guard.read() != 0 {
        return 0;
    }
    if !is_guest() {
        return 1;
    }
    let begin = Call::Begin { insist: true };
    let grant = host(|| call(guard, begin, code)).to_grant();
    c_int::from(grant != Grant::Refused)
}

extern "C" fn release(guard: GuestPtr<u8>, code: usize) {
    if !is_guest() {
        guard.write(1);
        return;
    }
    host(|| {
        let at = AtomicSite {
            site: code,
            callback: 0,
        };
        atomics::store(guard.as_ptr(), 1, RELEASE, at);
        call(guard, Call::Finish { poison: false }, code);
    });
}

extern "C" fn abort(guard: GuestPtr<u8>, code: usize) {
    if is_guest() {
        host(|| call(guard, Call::Finish { poison: true }, code));
    }
}
