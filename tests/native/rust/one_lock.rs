//! Two threads and a lock, without anything of std's that is inlined even where nothing is optimised.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

extern "C" fn run(_: *mut c_void) {
    let count = Arc::new(Mutex::new(0));
    let threads = [1, 2].map(|number| {
        let count = Arc::clone(&count);
        std::thread::spawn(move || *count.lock().unwrap() += number)
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*count.lock().unwrap(), 3);
}

fn main() {
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(run, std::ptr::null_mut()) });
}
