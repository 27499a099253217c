use raddle::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use raddle::{Ignored, thread};

pub fn counts_and_looks() {
    let (hits, logged) = (Ignored::new(AtomicU64::new(0)), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if hits.fetch_add(1, Relaxed) == 1 {
                    logged.store(1, SeqCst);
                }
            });
        }
    });
}
