use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::{label, thread};

pub fn after_you() {
    let gone = [AtomicBool::new(false), AtomicBool::new(false)];
    label!("left gone", &gone[0]);
    label!("right gone", &gone[1]);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !gone[1].load(SeqCst) {}
            gone[0].store(true, SeqCst);
        });
        scope.spawn(|| {
            while !gone[0].load(SeqCst) {}
            gone[1].store(true, SeqCst);
        });
    });
}
