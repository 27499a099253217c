use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::thread;

pub fn waits_in_a_loop() {
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| ready.store(true, SeqCst));
        while !ready.load(SeqCst) {
            thread::yield_now();
        }
    });
}
