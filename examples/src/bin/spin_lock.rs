//! A spin lock that looks and takes in two steps.
//!
//! ```console
//! cargo run -p raddle-examples --bin spin_lock
//! ```
//!
//! A loop that waits for another thread may go round any number of times. It is found to do nothing
//! but wait, so there is an end of executions to run.

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, hint, thread};

#[derive(Default)]
struct SpinLock {
    taken: AtomicBool,
    /// How many are inside, which should be one.
    inside: AtomicU32,
}

impl SpinLock {
    /// Two threads can both see that nobody has it.
    fn lock(&self) {
        while self.taken.load(SeqCst) {
            hint::spin_loop();
        }
        self.taken.store(true, SeqCst);
    }

    /// The fix: to look and to take is one step.
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
