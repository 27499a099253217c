use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, Ordering::Relaxed};
use raddle::thread;

struct Slot {
    value: UnsafeCell<u32>,
    ready: AtomicBool,
}

// SAFETY: the value is only read when `ready` says that it is there.
unsafe impl Sync for Slot {}

pub fn published_too_weakly() {
    let slot = Arc::new(Slot {
        value: UnsafeCell::new(0),
        ready: AtomicBool::new(false),
    });
    let other = Arc::clone(&slot);
    let writer = thread::spawn(move || {
        // SAFETY: `ready` is not set yet, so main does not read.
        other.value.with_mut(|value| unsafe { *value = 42 });
        other.ready.store(true, Relaxed);
    });
    if slot.ready.load(Relaxed) {
        // SAFETY: it is there.
        slot.value.with(|value| assert_eq!(unsafe { *value }, 42));
    }
    writer.join().unwrap();
}
