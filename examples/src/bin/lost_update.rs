//! Two threads add one to a counter, and one of the two is lost.
//!
//! ```console
//! cargo run -p raddle-examples --bin lost_update
//! ```
//!
//! Run as an ordinary program, this fails once in a great many times. A check runs every class of
//! executions, so it fails every time.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, thread};

/// Reads, then writes. Another thread may write in between, and this one overwrites it.
fn add_one_in_two_steps(counter: &AtomicU32) {
    let seen = counter.load(SeqCst);
    counter.store(seen + 1, SeqCst);
}

/// The fix: reading and writing is one step that nothing can come between.
fn add_one_in_one_step(counter: &AtomicU32) {
    counter.fetch_add(1, SeqCst);
}

/// The test itself. It makes everything it needs, because it is run many times.
fn two_threads_count(add_one: fn(&AtomicU32)) {
    let counter = AtomicU32::new(0);
    // As `std::thread::scope`: the threads may borrow, and have ended when it returns.
    thread::scope(|scope| {
        scope.spawn(|| add_one(&counter));
        scope.spawn(|| add_one(&counter));
    });
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

fn main() {
    println!("In two steps:");
    let report = Checker::new()
        .named("lost_update")
        // Run on after a failure and collect all that are different, instead of stopping there.
        .keep_going(true)
        .run(|| two_threads_count(add_one_in_two_steps));
    println!("{report}");

    println!("In one step:");
    let report = Checker::new().run(|| two_threads_count(add_one_in_one_step));
    // A test does this with a report: it panics with the first failure, or says what was checked.
    report.assert_ok();
}
