//! The programs of `bodies.rs` with std's types, each checked by its name.

use std::ffi::{c_int, c_void};

use std::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard,
};
use std::thread;

include!("bodies.rs");

unsafe extern "C" {
    fn raddle_check(body: extern "C" fn(*mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn run(body: *mut c_void) {
    // SAFETY: one of the bodies is there.
    let (_, body) = unsafe { *body.cast::<Body>() };
    body();
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap();
    let mut bodies = CORRECT.iter().chain(STUCK);
    let body = bodies.find(|(name, _)| *name == wanted).unwrap();
    // SAFETY: the function takes a body.
    let status = unsafe { raddle_check(run, std::ptr::from_ref(body).cast_mut().cast()) };
    std::process::exit(status);
}
