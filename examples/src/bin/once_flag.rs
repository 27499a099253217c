//! The first thread does the work, once: a flag records that it is done.
//!
//! ```console
//! cargo run -p raddle-examples --bin once_flag
//! ```
//!
//! Reading a flag and then setting it are two steps, and two threads can both read before either
//! sets. `compare_exchange` does both in one step and returns whether the caller set it.

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, thread};

/// True for the first caller, as many would write it.
fn looks_then_sets(taken: &AtomicBool) -> bool {
    if taken.load(SeqCst) {
        return false;
    }
    taken.store(true, SeqCst);
    true
}

/// The fix: true for the caller that changed `false` to `true`.
fn looks_and_sets(taken: &AtomicBool) -> bool {
    taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
}

fn two_threads_want_to_be_first(is_first: fn(&AtomicBool) -> bool) {
    let taken = AtomicBool::new(false);
    let done = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                if is_first(&taken) {
                    done.fetch_add(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(done.load(SeqCst), 1, "the work is done once");
}

fn main() {
    println!("Look, then set:");
    let report = Checker::new()
        .named("once_flag")
        .keep_going(true)
        .run(|| two_threads_want_to_be_first(looks_then_sets));
    println!("{report}");

    println!("Look and set in one step:");
    let report = Checker::new().run(|| two_threads_want_to_be_first(looks_and_sets));
    report.assert_ok();
}
