use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

pub fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || {
        let seen = other.load(SeqCst);
        other.store(seen + 1, SeqCst);
    });
    let seen = counter.load(SeqCst);
    counter.store(seen + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}
