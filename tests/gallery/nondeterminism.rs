use raddle::sync::Mutex;
use raddle::thread;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

static CALLS: AtomicU32 = AtomicU32::new(0);

pub fn only_the_first_time() {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        scope.spawn(|| drop(first.lock()));
        if CALLS.fetch_add(1, SeqCst) == 0 {
            drop(first.lock());
        } else {
            drop(second.lock());
        }
    });
}
