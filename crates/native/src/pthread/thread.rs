//! Threads.

use std::ffi::{c_int, c_void};

use raddle::__private::native::Manner;
use raddle_engine::Operation;

use super::interpose;
use crate::execution::running;
use crate::{end, threads};

type Attributes = *const libc::pthread_attr_t;

/// Whether the attributes say that nobody will join the thread.
fn is_detached(attributes: Attributes) -> bool {
    unsafe extern "C" {
        fn pthread_attr_getdetachstate(attributes: Attributes, state: *mut c_int) -> c_int;
    }
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the program gave attributes that it has made.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

interpose! {
    fn pthread_create(
        name: *mut usize, attributes: Attributes, function: usize, argument: usize
    ) -> c_int as create("r8") code {
        let pointer = threads::create(function, argument, is_detached(attributes), code);
        // SAFETY: the program says where it wants the name of the thread.
        unsafe { name.write(pointer) };
        0
    }

    fn pthread_join(name: usize, result: *mut usize) -> c_int as join("rdx") code {
        let Some(target) = threads::find(name) else {
            return libc::ESRCH;
        };
        match threads::join(target, code) {
            Ok(value) => {
                if !result.is_null() {
                    // SAFETY: the program says where it wants the result.
                    unsafe { result.write(value) };
                }
                0
            }
            Err(error) => error,
        }
    }

    fn pthread_detach(name: usize) -> c_int as detach("rsi") _code {
        let Some(target) = threads::find(name) else {
            return libc::ESRCH;
        };
        let was = threads::with(target, |guest| std::mem::replace(&mut guest.is_detached, true));
        if was { libc::EINVAL } else { 0 }
    }

    fn pthread_exit(value: usize) -> *mut c_void as exit("rsi") _code {
        threads::leave(value)
    }

    fn pthread_cancel(_name: usize) -> c_int as cancel("rsi") code {
        let message = "pthread_cancel is not controlled by raddle".to_owned();
        end::fail_in(Manner::Crash, message, code)
    }

    fn sched_yield() -> c_int as yield_now("rdi") code {
        running().perform(code, |_| Operation::Yield);
        0
    }

    fn pthread_yield() -> c_int as yield_too("rdi") code {
        running().perform(code, |_| Operation::Yield);
        0
    }
}
