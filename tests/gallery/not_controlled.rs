use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub fn counts_in_a_thread_of_std() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    counter.fetch_add(1, SeqCst);
    let worker = std::thread::Builder::new().name("worker".to_owned());
    let worker = worker.spawn(move || other.fetch_add(1, SeqCst)).unwrap();
    worker.join().unwrap();
}
