//! Thread-specific values by key. The C library's are not reset between executions, so those of
//! guests are kept here; the keys themselves are the C library's.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::watched;
use crate::execution::part::{Part, PartCell};
use crate::execution::shadow_stack;
use crate::host::mode;
use crate::process::restart;
use crate::threads::{guests, interrupts, requests};

const MOST_KEYS: usize = 1024;
/// Maximum rounds of destructors that set values again, as in the C library.
const ROUNDS: usize = 4;

type Destructor = usize;

/// Destructors of the keys that were created outside of executions; 0 for those that have none.
static BEFORE: [AtomicUsize; MOST_KEYS] = [const { AtomicUsize::new(0) }; MOST_KEYS];

/// Destructors of the keys that the execution has created; 0 for those that it has deleted or that have none.
#[derive(Default)]
pub(crate) struct Keys(BTreeMap<usize, Destructor>);

impl Part for Keys {
    fn renew(&mut self) {
        // Without a snapshot the program still has the keys of earlier executions.
        if restart::is_snapshot() {
            let Keys(destructors) = self;
            destructors.clear();
        }
    }
}

pub(crate) static KEYS: PartCell<Keys> = PartCell::new();

/// In host mode: later executions begin with the keys of this one.
pub(crate) fn keep() {
    let Keys(destructors) = &mut *KEYS.get();
    for (key, destructor) in std::mem::take(destructors) {
        BEFORE[key].store(destructor, Relaxed);
    }
}

/// Records that a key was created with this destructor, or deleted.
fn set_destructor(key: usize, destructor: Destructor) {
    if key >= MOST_KEYS {
        return;
    }
    match mode::is_guest() {
        true => mode::host(|| {
            KEYS.get().0.insert(key, destructor);
            guests::forget_key(key);
        }),
        false => BEFORE[key].store(destructor, Relaxed),
    }
}

/// Returns the destructor of a key; 0 if it has none.
fn destructor(key: usize) -> Destructor {
    let own = KEYS.get().0.get(&key).copied();
    own.unwrap_or_else(|| BEFORE[key].load(Relaxed))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(super) extern "C" fn pthread_key_create(key: GuestPtr<u32>, destructor: Destructor) -> c_int {
    let error =
        forward!(fn pthread_key_create(key: GuestPtr<u32>, destructor: Destructor) -> c_int);
    if error == 0 {
        set_destructor(key.read() as usize, destructor);
    }
    error
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(super) extern "C" fn pthread_key_delete(key: u32) -> c_int {
    set_destructor(key as usize, 0);
    forward!(fn pthread_key_delete(key: u32) -> c_int)
}

watched! {
    fn pthread_setspecific(key: u32, value: usize) -> c_int as set("rdx");
    fn pthread_getspecific(key: u32) -> *mut c_void as get("rsi");
}

/// In guest mode: handles the requests to the running thread, if there may be any.
fn look_for_requests(code: usize) {
    if requests::are_possible() {
        let code = shadow_stack::users(code);
        mode::host(|| interrupts::scheduling_point(code));
    }
}

// These two stay in guest mode: threads store a value when they begin.
pub(super) extern "C" fn set(key: u32, value: usize, code: usize) -> c_int {
    if !mode::is_guest() {
        return forward!(fn pthread_setspecific(key: u32, value: usize) -> c_int);
    }
    look_for_requests(code);
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

pub(super) extern "C" fn get(key: u32, code: usize) -> *mut c_void {
    type Value = *mut c_void;
    if !mode::is_guest() {
        return forward!(fn pthread_getspecific(key: u32) -> Value);
    }
    look_for_requests(code);
    let value = guests::with_running(|guest| guest.values.get(key as usize).copied());
    value.unwrap_or(0) as *mut c_void
}

/// Runs the destructors of the running thread's values, in the order of the keys. Values under
/// later keys are still set.
pub(crate) fn run_destructors() {
    for _ in 0..ROUNDS {
        let mut ran = false;
        let mut next = 0;
        while let Some((key, value)) = take_value(next) {
            next = key + 1;
            let destructor = destructor(key);
            if destructor != 0 {
                ran = true;
                guests::run_guest(destructor, value);
            }
        }
        if !ran {
            return;
        }
    }
}

/// Removes the running thread's first value that is not 0, from a key on; returns its key and the value.
fn take_value(from: usize) -> Option<(usize, usize)> {
    guests::with_running(|guest| {
        let mut values = guest.values.iter_mut().enumerate().skip(from);
        let (key, value) = values.find(|(_, value)| **value != 0)?;
        Some((key, std::mem::take(value)))
    })
}
