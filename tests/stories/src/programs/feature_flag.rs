//! Two threads take two locks in different orders, but only while a feature is on, and it is on
//! only for a moment. Whether the second lock is taken is decided when the first is held.
//!
//! A thread must be interrupted while the feature is on (one), and one of the two between its locks
//! (two).

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "feature_flag",
    pattern: "locks are taken in different orders while a feature is on",
    buggy: || run([0, 1]),
    correct: || run([0, 0]),
    facts: Facts::new(FailureKind::Deadlock, 3, 2),
}];

#[derive(Default)]
struct Shared {
    feature: AtomicBool,
    locks: [Mutex<usize>; 2],
}

/// Takes this lock, and the other one if the feature is on.
fn work(shared: &Shared, first: usize) {
    let mut one = shared.locks[first].lock().unwrap();
    *one += 1;
    if shared.feature.load(SeqCst) {
        let mut other = shared.locks[1 - first].lock().unwrap();
        *other += 1;
    }
}

fn run(firsts: [usize; 2]) {
    crowd(
        3,
        &Arc::new(Shared::default()),
        move |shared, number| match firsts.get(number) {
            Some(&first) => work(shared, first),
            None => {
                shared.feature.store(true, SeqCst);
                shared.feature.store(false, SeqCst);
            }
        },
    );
}
