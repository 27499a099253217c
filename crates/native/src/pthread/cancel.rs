//! Ends of threads before their function returns, by themselves and by other threads.
//!
//! A cancelled thread ends at the next cancellation point of POSIX. With asynchronous cancellation
//! too: it may take effect as late as that.

use std::ffi::c_int;

use raddle_engine::ThreadId;

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::departing;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::mode;
use crate::threads::guests;
use crate::threads::interpose::{cancellation_points, interpose};
use crate::threads::requests::{self, CANCEL};
use crate::threads::unwind::{self, Handler};

const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

/// Threads with asynchronous cancellation; only used to return the old type.
#[derive(Default)]
pub(crate) struct Asynchronous(Vec<ThreadId>);

impl Part for Asynchronous {}

pub(crate) static ASYNCHRONOUS: PartCell<Asynchronous> = PartCell::new();

interpose! {
    fn pthread_cancel(name: usize) -> c_int as cancel("rsi") code {
        let Some(target) = guests::find(name) else {
            return libc::ESRCH;
        };
        requests::request(target, CANCEL, code);
        0
    }

    fn pthread_setcancelstate(state: c_int, old: GuestPtr<c_int>) -> c_int as set_state("rdx") _code {
        let before = match state {
            ENABLE => requests::mask(|masked| masked & !CANCEL),
            DISABLE => requests::mask(|masked| masked | CANCEL),
            _ => return libc::EINVAL,
        };
        old.set(if before & CANCEL == 0 { ENABLE } else { DISABLE });
        0
    }

    fn pthread_setcanceltype(wanted: c_int, old: GuestPtr<c_int>) -> c_int as set_type("rdx") _code {
        if wanted & !1 != 0 {
            return libc::EINVAL;
        }
        let thread = running().thread();
        let asked = &mut ASYNCHRONOUS.get().0;
        let before = asked.contains(&thread);
        asked.retain(|&other| other != thread);
        asked.extend((wanted != 0).then_some(thread));
        old.set(c_int::from(before));
        0
    }

    fn __pthread_register_cancel(handler: *mut Handler) -> () as register("rsi") _code {
        unwind::register(handler);
    }

    fn __pthread_unregister_cancel(handler: *mut Handler) -> () as unregister("rsi") _code {
        unwind::unregister(handler);
    }

    fn __pthread_register_cancel_defer(handler: *mut Handler) -> () as register_defer("rsi") _code {
        unwind::register(handler);
    }

    fn __pthread_unregister_cancel_restore(
        handler: *mut Handler
    ) -> () as unregister_restore("rsi") _code {
        unwind::unregister(handler);
    }
}

cancellation_points! {
    fn pthread_testcancel() -> () as test("rdi") _code {}
}

departing! {
    fn pthread_exit(value: usize) -> () as exit("rsi");
    fn thrd_exit(value: c_int) -> () as exit_c11("rsi");
    fn __pthread_unwind_next(handler: *mut Handler) -> () as go_on("rsi");
}

extern "C" fn exit(value: usize, _code: usize) {
    if !mode::is_guest() {
        forward!(fn pthread_exit(value: usize) -> ());
        return;
    }
    mode::host(|| {
        requests::mask(|masked| masked | CANCEL);
        unwind::ask(value);
    });
}

extern "C" fn exit_c11(value: c_int, code: usize) {
    exit(value as usize, code);
}

/// Continues the end of a thread after a cleanup handler.
extern "C" fn go_on(handler: *mut Handler, _code: usize) {
    if !mode::is_guest() {
        forward!(fn __pthread_unwind_next(handler: *mut Handler) -> ());
        return;
    }
    mode::host(|| {
        unwind::unregister(handler);
        unwind::again();
    });
}
