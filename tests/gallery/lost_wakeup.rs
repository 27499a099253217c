use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex};
use raddle::thread;

pub fn ready() {
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = lock.lock().unwrap();
            while !ready.load(SeqCst) {
                guard = condition.wait(guard).unwrap();
            }
        });
        ready.store(true, SeqCst);
        condition.notify_one();
    });
}
