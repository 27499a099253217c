use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

pub fn written_and_read_together() {
    let a = Arc::new(AtomicU32::new(0));
    let b = Arc::new(AtomicU32::new(0));
    let lock = Arc::new(Mutex::new(()));
    let (other_a, other_b, other_lock) = (a.clone(), b.clone(), lock.clone());
    let thread = thread::spawn(move || {
        let _guard = other_lock.lock();
        other_a.store(1, SeqCst);
        other_b.store(1, SeqCst);
    });
    let guard = lock.lock();
    a.store(2, SeqCst);
    b.store(2, SeqCst);
    drop(guard);
    let guard = lock.lock();
    a.load(SeqCst);
    b.load(SeqCst);
    drop(guard);
    thread.join().unwrap();
}
