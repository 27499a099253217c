//! One-time initialisation.

use std::ffi::c_int;

use raddle_engine::object::{self, Object, once::Call};
use raddle_engine::{Grant, Reply};

use super::object_life::PosixObject;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::entry;
use crate::execution::shadow_stack;
use crate::host::mode::{host, is_guest};
use crate::memory::objects;
use crate::process::rust_panics;

type Once = GuestPtr<c_int>;

const KIND: &str = "once";
/// Value of the variable after the call, as in the C library.
const DONE: c_int = 2;

fn call(once: Once, call: Call, code: usize) -> Reply {
    let initial = || {
        let is_done = once.read() == DONE;
        Object::Once(match is_done {
            true => object::once::Once::Done,
            false => object::once::Once::New,
        })
    };
    let call = object::Call::Once(call);
    let object = PosixObject {
        address: once.address(),
        size: size_of::<c_int>(),
        what: "uses a once flag",
    };
    object.during(code, || {
        objects::call(once.address(), KIND, initial, call, code)
    })
}

entry! {
    // The function may throw an exception or end the thread, so all frames here can be unwound.
    unwinding fn pthread_once(once: Once, function: Function) -> c_int as do_once("rdx");
}

type Function = extern "C-unwind" fn();

/// A call in progress. If it is left before its end, another thread may begin again.
struct Doing {
    once: Once,
    code: usize,
    is_done: bool,
}

impl Drop for Doing {
    fn drop(&mut self) {
        let poison = !self.is_done;
        host(|| call(self.once, Call::Finish { poison }, self.code));
    }
}

pub(super) extern "C-unwind" fn do_once(once: Once, function: Function, code: usize) -> c_int {
    if !is_guest() || rust_panics::is_unwinders(code) {
        return forward!(fn pthread_once(once: Once, function: Function) -> c_int);
    }
    let code = shadow_stack::users(code);
    let begin = Call::Begin { insist: true };
    if host(|| call(once, begin, code)).to_grant() != Grant::Refused {
        let mut doing = Doing {
            once,
            code,
            is_done: false,
        };
        function();
        doing.is_done = true;
        drop(doing);
        // Uncontrolled threads use the C library later.
        once.write(DONE);
    }
    0
}
