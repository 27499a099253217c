//! Waiting for a word of memory to change.
//!
//! A thread first becomes a waiter and then reads the word, so that no change in between is missed.
//! If the word has changed, the waiter leaves again and wakes another one if a wake-up has reached
//! it by then. For the others that wake-up is only delayed.

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, condvar::Call};
use raddle_engine::{Operation, Reply};

use super::atomics;
use super::heap_use::Use;
use crate::engine::protocol::condvar::Wait;
use crate::execution::{Guest, running};
use crate::memory::objects;

const KIND: &str = "futex";

fn call(word: *mut u32, call: Call, code: usize) -> Reply {
    let initial = || Object::Condvar(object::condvar::Condvar::futex());
    objects::call(word as usize, KIND, initial, call, code)
}

/// Changes the number of waiters that have not been woken; returns the result of `change`.
fn count(word: *mut u32, change: impl FnOnce(&mut u32) -> u32) -> u32 {
    objects::with(word as usize, |known| change(&mut known.depth)).unwrap_or(0)
}

fn leave(waiters: &mut u32) -> u32 {
    *waiters = waiters.saturating_sub(1);
    *waiters
}

/// Site of a wait.
#[derive(Clone, Copy)]
pub(crate) struct WaitSite {
    pub(crate) site: usize,
    /// True if its code is instrumented.
    pub(crate) is_seen: bool,
}

/// Returns the value of the word. The load is an acquire: code after a wait uses the data that the word
/// protects, perhaps without instrumentation.
fn look(word: *mut u32, code: usize) -> u32 {
    let ordering = Ordering::Acquire;
    let load = |location| Operation::Load { location, ordering };
    let seen = atomics::perform_by(word, code, load, |load| running().perform(code, load));
    seen.to_value() as u32
}

/// As [`look`], for words that code without instrumentation changes: reads memory.
fn look_at_memory(word: *mut u32) -> u32 {
    // SAFETY: the word is mapped: a system call for it is running, and the guest has read it before.
    unsafe { word.read_volatile() }
}

/// Waits while the word has the expected value; returns an error, or 0. Waking waiters is no use of
/// the word: the kernel takes its address as a key only, and the word may be freed by then.
pub(crate) fn wait(
    word: *mut u32,
    expected: u32,
    until: Option<std::time::Duration>,
    wait_site: WaitSite,
) -> c_int {
    let code = wait_site.site;
    let used = Use {
        address: word as usize,
        size: size_of::<u32>(),
        what: "waits for",
        site: code,
    };
    if !used.is_there() {
        return libc::EFAULT;
    }
    used.begin();
    let look = || match wait_site.is_seen {
        true => look(word, code),
        false => look_at_memory(word),
    };
    let wait = Wait {
        time: until.map(|until| move || until),
        spurious: false,
        looked: true,
        call: |wanted| call(word, wanted, code),
    };
    let is_changed = || {
        count(word, |waiters| {
            *waiters += 1;
            *waiters
        });
        match look() == expected {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let renotify = || {
        wake(word, 1, code);
    };
    match wait.unless(Guest, is_changed, renotify) {
        ControlFlow::Break(left) => {
            if !left.notified {
                count(word, leave);
            }
            libc::EAGAIN
        }
        ControlFlow::Continue(false) => {
            look();
            0
        }
        ControlFlow::Continue(true) => {
            count(word, leave);
            libc::ETIMEDOUT
        }
    }
}

/// Wakes at most `most` waiters; returns their number.
pub(crate) fn wake(word: *mut u32, most: u32, code: usize) -> u32 {
    let waiters = count(word, |waiters| *waiters);
    let woken = waiters.min(most);
    match most >= waiters && most > 1 {
        true => {
            call(word, Call::NotifyAll, code);
        }
        false => {
            for _ in 0..most {
                call(word, Call::NotifyOne, code);
            }
        }
    }
    count(word, |waiters| {
        *waiters = waiters.saturating_sub(woken);
        *waiters
    });
    woken
}
