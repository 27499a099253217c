//! Condition variables.

use std::time::Duration;

use raddle_engine::Reply;
use raddle_engine::object::{self, Object, condvar::Call};

use super::mutex;
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;

const KIND: &str = "Condvar";

type Word = *mut u32;

fn call(condvar: Word, call: Call, code: usize) -> Reply {
    let call = object::Call::Condvar(call);
    let initial = || Object::Condvar(object::condvar::Condvar::default());
    objects::call(condvar as usize, KIND, initial, call, code)
}

/// Waits for a notification; returns true if it timed out.
fn wait_for(condvar: Word, mutex: Word, time: Option<Duration>, code: usize) -> bool {
    let native = running();
    let timeout = time.is_some() && native.may_time_out();
    let wait = Call::Wait {
        spurious: native.may_wake_spuriously(),
        looked: true,
    };
    let woken_up = call(condvar, wait, code).to_answer();
    mutex::give_back(mutex, code);
    let timed_out = if woken_up {
        native.count_spurious_wakeup();
        false
    } else {
        call(condvar, Call::Wake { timeout }, code).to_answer()
    };
    if let Some(time) = time.filter(|_| timed_out) {
        native.pass_time(time);
    }
    mutex::take_again(mutex, code);
    timed_out
}

/// `Condvar::wait`.
pub(super) extern "C-unwind" fn wait(condvar: Word, mutex: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| wait_for(condvar, mutex, None, code));
}

/// `Condvar::wait_timeout`: returns true if it was notified in time.
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

/// `Condvar::notify_one`.
pub(super) extern "C-unwind" fn notify_one(condvar: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| {
        call(condvar, Call::NotifyOne, code);
    });
}

/// `Condvar::notify_all`.
pub(super) extern "C-unwind" fn notify_all(condvar: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| {
        call(condvar, Call::NotifyAll, code);
    });
}
