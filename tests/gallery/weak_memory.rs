use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use raddle::thread;

pub fn published() {
    let data = Arc::new(AtomicU32::new(0));
    let ready = Arc::new(AtomicBool::new(false));
    let (to, flag) = (Arc::clone(&data), Arc::clone(&ready));
    let writer = thread::spawn(move || {
        to.store(42, Relaxed);
        flag.store(true, Relaxed);
    });
    if ready.load(Relaxed) {
        assert_eq!(data.load(Relaxed), 42);
    }
    writer.join().unwrap();
}
