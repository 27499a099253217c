//! Two threads that try to take a lock. Optimised as one unit, the ends of the paths through the guard's drop are
//! one instruction, which is in no function of std's.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, RwLock};

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

fn twice(body: impl Fn() + Clone + Send + 'static) {
    let threads = [(); 2].map(|()| std::thread::spawn(body.clone()));
    for thread in threads {
        thread.join().unwrap();
    }
}

fn mutex() {
    let shared = Arc::new(Mutex::new(0));
    twice(move || {
        if let Ok(mut value) = shared.try_lock() {
            *value += 1;
        }
    });
}

fn rwlock() {
    let shared = Arc::new(RwLock::new(0));
    twice(move || {
        if let Ok(mut value) = shared.try_write() {
            *value += 1;
        }
    });
}

extern "C" fn run(which: *mut c_void) {
    match which.is_null() {
        true => mutex(),
        false => rwlock(),
    }
}

fn main() {
    let which = std::env::args().nth(1).is_some_and(|name| name == "rwlock");
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(run, usize::from(which) as *mut c_void) });
}
