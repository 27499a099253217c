//! A spin lock that reads and sets its flag in two steps.
//!
//! ```console
//! cargo run -p raddle-examples --bin spin_lock
//! ```
//!
//! A loop that waits for another thread may run any number of rounds. The check recognises it as a
//! spin loop, so that the search ends.

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, hint, thread};

#[derive(Default)]
struct SpinLock {
    taken: AtomicBool,
    /// Number of threads inside, which should be one.
    inside: AtomicU32,
}

impl SpinLock {
    /// Two threads can both read that the lock is free.
    fn lock(&self) {
        while self.taken.load(SeqCst) {
            hint::spin_loop();
        }
        self.taken.store(true, SeqCst);
    }

    /// The fix: reads and sets the flag in one step.
    fn lock_at_once(&self) {
        while self.taken.swap(true, SeqCst) {
            hint::spin_loop();
        }
    }

    fn work(&self) {
        assert_eq!(self.inside.fetch_add(1, SeqCst), 0, "two are inside");
        self.inside.fetch_sub(1, SeqCst);
        self.taken.store(false, SeqCst);
    }
}

fn two_threads(lock: fn(&SpinLock)) {
    let shared = SpinLock::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                lock(&shared);
                shared.work();
            });
        }
    });
}

fn main() {
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    println!("Look, then take:");
    let report = checker()
        .named("spin_lock")
        .run(|| two_threads(SpinLock::lock));
    println!("{}", report.failures[0]);

    println!("Look and take in one step:");
    let report = checker().run(|| two_threads(SpinLock::lock_at_once));
    report.assert_ok();
    assert!(report.exhausted);
    println!("nothing goes wrong in any execution");
}
