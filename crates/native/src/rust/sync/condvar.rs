//! Condition variables.

use std::time::Duration;

use raddle_engine::Reply;
use raddle_engine::object::{self, Object, condvar::Call};

use super::mutex;
use crate::abi::caller;
use crate::engine::protocol::condvar::{Wait, Waiter, first};
use crate::execution::{Guest, running, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;

const KIND: &str = "Condvar";
const USES: &str = "uses a condition variable";

type Word = *mut u32;

fn initial() -> Object {
    Object::Condvar(object::condvar::Condvar::default())
}

fn call(condvar: Word, call: Call, code: usize) -> Reply {
    let perform = || objects::call(condvar as usize, KIND, initial, call, code);
    match call {
        // Waiters do not access it any more when they are notified.
        Call::Wake { .. } => perform(),
        _ => super::during(condvar as usize, USES, code, perform),
    }
}

/// Waits for a notification; returns true if it timed out.
fn wait_for(condvar: Word, mutex: Word, time: Option<Duration>, code: usize) -> bool {
    let top = caller::top();
    let timeout = time.is_some() && running().may_time_out();
    let first = first(Guest, true, true);
    // A loop may repeat a wait that times out, from its first operation or from its lock.
    let reply = match timeout {
        true => super::during(condvar as usize, USES, code, || {
            objects::call_of_a_round(condvar as usize, KIND, initial, first, (code, top))
        }),
        false => call(condvar, first, code),
    };
    let wait = Wait {
        time: time.map(|time| move || time),
        spurious: true,
        looked: true,
        call: |wanted| call(condvar, wanted, code),
    };
    let unlock = || mutex::give_back(mutex, code);
    let lock = |(), timed_out| {
        // The result is not on the caller's stack, where it would be compared.
        match timed_out {
            true => mutex::take_again_in_a_round(mutex, (code, top)),
            false => mutex::take_again(mutex, code),
        }
        timed_out
    };
    wait.finish(Waiter::new(timeout, reply), Guest, unlock, lock)
}

/// Stand-in of `Condvar::wait`.
pub(super) extern "C-unwind" fn wait(condvar: Word, mutex: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| wait_for(condvar, mutex, None, code));
}

/// Stand-in of `Condvar::wait_timeout`: returns true if it was notified in time.
pub(super) extern "C-unwind" fn wait_timeout(
    condvar: Word,
    mutex: Word,
    seconds: u64,
    nanoseconds: u32,
    code: usize,
) -> bool {
    let code = shadow_stack::users(code);
    let time = Duration::new(seconds, nanoseconds);
    host(|| !wait_for(condvar, mutex, Some(time), code))
}

/// Stand-in of `Condvar::notify_one`.
pub(super) extern "C-unwind" fn notify_one(condvar: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| {
        call(condvar, Call::NotifyOne, code);
    });
}

/// Stand-in of `Condvar::notify_all`.
pub(super) extern "C-unwind" fn notify_all(condvar: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| {
        call(condvar, Call::NotifyAll, code);
    });
}
