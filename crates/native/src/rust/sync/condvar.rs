//! Condition variables.

use std::time::Duration;

use raddle_engine::Reply;
use raddle_engine::object::{self, Object, condvar::Call};

use super::mutex;
use crate::engine::protocol::condvar::Wait;
use crate::execution::{Guest, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;

const KIND: &str = "Condvar";

type Word = *mut u32;

fn call(condvar: Word, call: Call, code: usize) -> Reply {
    let initial = || Object::Condvar(object::condvar::Condvar::default());
    let perform = || objects::call(condvar as usize, KIND, initial, call, code);
    match call {
        // Waiters do not access it any more when they are notified.
        Call::Wake { .. } => perform(),
        _ => super::during(condvar as usize, "uses a condition variable", code, perform),
    }
}

/// Waits for a notification; returns true if it timed out.
fn wait_for(condvar: Word, mutex: Word, time: Option<Duration>, code: usize) -> bool {
    let wait = Wait {
        time: time.map(|time| move || time),
        spurious: true,
        looked: true,
        call: |wanted| call(condvar, wanted, code),
    };
    let unlock = || mutex::give_back(mutex, code);
    wait.run(Guest, unlock, |(), timed_out| {
        mutex::take_again(mutex, code);
        timed_out
    })
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
