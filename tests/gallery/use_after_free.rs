use raddle::cell::UnsafeCell;
use raddle::sync::{Arc, Mutex};
use raddle::thread;

struct Borrowed(*const UnsafeCell<u32>);

// SAFETY: the lock keeps others out while one uses it.
unsafe impl Send for Borrowed {}

pub fn dropped_too_early() {
    let mut slot = Box::new(Some(UnsafeCell::new(7)));
    let borrowed = Borrowed(slot.as_ref().as_ref().unwrap());
    let lock = Arc::new(Mutex::new(borrowed));
    let other = Arc::clone(&lock);
    let reader = thread::spawn(move || {
        let borrowed = other.lock().unwrap();
        // SAFETY: it is, unless somebody was faster.
        unsafe { &*borrowed.0 }.with(|value| assert_eq!(unsafe { *value }, 7));
    });
    let held = lock.lock().unwrap();
    *slot = None;
    drop(held);
    reader.join().unwrap();
}
