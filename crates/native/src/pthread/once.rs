//! Things to be done once.

use std::ffi::c_int;

use raddle_engine::object::{self, Object, once::Call};
use raddle_engine::{Grant, Reply};

use crate::mode::{host, is_guest};
use crate::objects;
use crate::trampoline::entry;
use crate::tsan::calls;

type Once = *mut c_int;

const KIND: &str = "once";
/// What the C library writes where something is done.
const DONE: c_int = 2;

fn call(once: Once, call: Call, code: usize) -> Reply {
    let initial = || {
        // SAFETY: the program has such a variable there.
        let is_done = unsafe { once.read() } == DONE;
        Object::Once(match is_done {
            true => object::once::Once::Done,
            false => object::once::Once::New,
        })
    };
    let call = object::Call::Once(call);
    objects::call(once as usize, KIND, initial, call, code)
}

entry! {
    fn pthread_once(once: Once, function: extern "C" fn()) -> c_int as do_once("rdx");
}

pub(super) extern "C" fn do_once(once: Once, function: extern "C" fn(), code: usize) -> c_int {
    if !is_guest() {
        type Function = extern "C" fn();
        // SAFETY: what the caller wanted.
        return unsafe {
            crate::real::real!(fn pthread_once(Once, Function) -> c_int)(once, function)
        };
    }
    let code = calls::users(code);
    let begin = Call::Begin { insist: true };
    if host(|| call(once, begin, code)).to_grant() != Grant::Refused {
        function();
        host(|| call(once, Call::Finish { poison: false }, code));
        // SAFETY: as above. For those who ask the C library later.
        unsafe { once.write(DONE) };
    }
    0
}
