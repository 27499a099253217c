use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub fn counts_in_a_loop() {
    let rounds = AtomicU32::new(0);
    while rounds.fetch_add(1, SeqCst) < 1_000_000 {}
}
