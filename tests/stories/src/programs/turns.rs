//! Threads take turns and wait for theirs with one condition variable. A thread whose turn is over
//! wakes one of the others, which may be one whose turn it is not; that one waits again, and then
//! every thread waits.
//!
//! No preemption: threads are switched when they wait, and the choice is who is woken.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "turns",
    pattern: "wakes one of several that wait for different things",
    buggy: || run(Condvar::notify_one),
    correct: || run(Condvar::notify_all),
    facts: Facts::new(FailureKind::Deadlock, 3, 0),
}];

fn run(wake: fn(&Condvar)) {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    crowd(3, &shared, move |(turn, changed), number| {
        let mut turn = turn.lock().unwrap();
        while *turn != number {
            turn = changed.wait(turn).unwrap();
        }
        *turn += 1;
        wake(changed);
    });
}
