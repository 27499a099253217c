//! Panics that end the program; the first argument says which.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

static COUNT: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn raddle_check(body: extern "C" fn(*mut ()), argument: *mut ()) -> i32;
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        panic!("while cleaning up");
    }
}

extern "C" fn cannot_unwind() {
    assert_eq!(COUNT.fetch_add(1, SeqCst), 0, "came second");
}

fn panics_twice() {
    let _guard = Guard;
    cannot_unwind_here();
}

fn cannot_unwind_here() {
    assert_eq!(COUNT.fetch_add(1, SeqCst), 0, "came second");
    std::process::exit(0);
}

extern "C" fn body(which: *mut ()) {
    COUNT.store(0, SeqCst);
    let run = match which as usize {
        0 => || cannot_unwind(),
        _ => panics_twice,
    };
    let other = thread::spawn(run);
    run();
    let _ = other.join();
}

fn main() {
    let which = usize::from(std::env::args().nth(1).unwrap() == "twice");
    // SAFETY: raddle's own function, with a body that takes such an argument.
    std::process::exit(unsafe { raddle_check(body, which as *mut ()) });
}
