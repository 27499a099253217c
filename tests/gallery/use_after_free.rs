use std::mem::ManuallyDrop;

use raddle::cell::UnsafeCell;
use raddle::sync::{Arc, Mutex};
use raddle::thread;

struct Borrowed(*const UnsafeCell<u32>);

// SAFETY: the lock keeps others out while one uses it.
unsafe impl Send for Borrowed {}

pub fn dropped_too_early() {
    let mut slot = Box::new(ManuallyDrop::new(UnsafeCell::new(7)));
    let borrowed = Borrowed(&raw const **slot);
    let lock = Arc::new(Mutex::new(borrowed));
    let other = Arc::clone(&lock);
    let reader = thread::spawn(move || {
        let borrowed = other.lock().unwrap();
        // SAFETY: it is, unless the main thread has dropped the slot.
        unsafe { &*borrowed.0 }.with(|value| assert_eq!(unsafe { *value }, 7));
    });
    let held = lock.lock().unwrap();
    // SAFETY: it is not, as the other thread may still use the slot.
    unsafe { ManuallyDrop::drop(&mut slot) };
    drop(held);
    reader.join().unwrap();
}
