//! Primitives of std's in memory that one thread frees while another uses them, or that are used in order; the
//! arguments say which, and whether in order.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

struct Pointer<T>(*mut T);

// SAFETY: which thread may use the value is what is tested.
unsafe impl<T> Send for Pointer<T> {}

impl<T> Pointer<T> {
    fn value(&self) -> &T {
        // SAFETY: whether the value is still there is what is tested.
        unsafe { &*self.0 }
    }
}

static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// One thread uses the value, which the other frees: after it has ended, or at any time.
fn beside<T: 'static>(value: T, use_it: fn(&T)) {
    let pointer = Box::into_raw(Box::new(value));
    let other = Pointer(pointer);
    let thread = thread::spawn(move || use_it(other.value()));
    // SAFETY: the value is not used after that, if there is an order.
    let free = || drop(unsafe { Box::from_raw(pointer) });
    match IN_ORDER.load(Relaxed) {
        true => {
            thread.join().unwrap();
            free();
        }
        false => {
            free();
            thread.join().unwrap();
        }
    }
}

static WHICH: AtomicUsize = AtomicUsize::new(0);

/// By name; the comment with the name is at the line of the use.
const ALL: [(&str, fn()); 11] = [
    ("lock", || {
        beside(Mutex::new(()), |it| drop(it.lock())); /* lock */
    }),
    ("try-lock", || {
        beside(Mutex::new(()), |it| drop(it.try_lock())); /* try-lock */
    }),
    ("read", || {
        beside(RwLock::new(()), |it| drop(it.read())); /* read */
    }),
    ("write", || {
        beside(RwLock::new(()), |it| drop(it.write())); /* write */
    }),
    ("try-read", || {
        beside(RwLock::new(()), |it| drop(it.try_read())); /* try-read */
    }),
    ("notify-one", || {
        beside(Condvar::new(), |it| it.notify_one()); /* notify-one */
    }),
    ("notify-all", || {
        beside(Condvar::new(), |it| it.notify_all()); /* notify-all */
    }),
    ("once", || {
        beside(Once::new(), |it| it.call_once(|| ())); /* once */
    }),
    ("is-completed", || {
        beside(Once::new(), |it| _ = it.is_completed()); /* is-completed */
    }),
    ("barrier", || {
        beside(Barrier::new(1), |it| _ = it.wait()); /* barrier */
    }),
    ("atomic", || {
        beside(AtomicUsize::new(0), |it| it.store(1, SeqCst)); /* atomic */
    }),
];

extern "C" fn run(_: *mut c_void) {
    ALL[WHICH.load(Relaxed)].1();
}

fn main() {
    let mut words = std::env::args().skip(1);
    let name = words.next().expect("a name");
    let which = ALL.iter().position(|(one, _)| *one == name);
    WHICH.store(which.expect("one of the names"), Relaxed);
    IN_ORDER.store(words.next().is_some(), Relaxed);
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(run, std::ptr::null_mut()) });
}
