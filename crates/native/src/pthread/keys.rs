//! Values that each thread has under a key. The C library keeps them in a place that is not reset with
//! the rest, so those of guests are kept here; the keys themselves are the C library's.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::abi::real::forward;
use crate::host::mode;
use crate::threads::guests;
use crate::threads::interpose::interpose;

const MOST_KEYS: usize = 1024;
/// How often destructors are run that set values again; as the C library does.
const ROUNDS: usize = 4;

type Destructor = usize;

/// By key; nothing for keys without a destructor.
static DESTRUCTORS: [AtomicUsize; MOST_KEYS] = [const { AtomicUsize::new(0) }; MOST_KEYS];

#[unsafe(no_mangle)]
pub(super) extern "C" fn pthread_key_create(key: *mut u32, destructor: Destructor) -> c_int {
    // SAFETY: what the caller wanted.
    unsafe {
        let error = crate::abi::real::real!(fn pthread_key_create(*mut u32, Destructor) -> c_int)(
            key, destructor,
        );
        if error == 0
            && let Some(known) = DESTRUCTORS.get(*key as usize)
        {
            known.store(destructor, Relaxed);
            if mode::is_guest() {
                let key = *key as usize;
                mode::host(|| guests::forget_key(key));
            }
        }
        error
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn pthread_key_delete(key: u32) -> c_int {
    if let Some(known) = DESTRUCTORS.get(key as usize) {
        known.store(0, Relaxed);
    }
    forward!(fn pthread_key_delete(key: u32) -> c_int)
}

interpose! {
    fn pthread_setspecific(key: u32, value: usize) -> c_int as set("rdx") _code {
        let key = key as usize;
        if key >= MOST_KEYS {
            return libc::EINVAL;
        }
        guests::with_running(|guest| {
            if guest.values.len() <= key {
                guest.values.resize(key + 1, 0);
            }
            guest.values[key] = value;
        });
        0
    }

    fn pthread_getspecific(key: u32) -> *mut c_void as get("rsi") _code {
        let value = guests::with_running(|guest| guest.values.get(key as usize).copied());
        value.unwrap_or(0) as *mut c_void
    }
}

/// Runs the destructors of the running thread's values, in the order of the keys. Each sees the values under
/// later keys.
pub(crate) fn run_destructors() {
    for _ in 0..ROUNDS {
        let mut ran = false;
        for (key, destructor) in DESTRUCTORS.iter().enumerate() {
            let value = guests::with_running(|guest| guest.values.get_mut(key).map(std::mem::take));
            let Some(value) = value else { break };
            let destructor = destructor.load(Relaxed);
            if value != 0 && destructor != 0 {
                ran = true;
                guests::run_guest(destructor, value);
            }
        }
        if !ran {
            return;
        }
    }
}
