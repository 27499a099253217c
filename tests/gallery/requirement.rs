use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

pub fn counts() {
    let counter = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| counter.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(counter.into_inner(), 4);
}
