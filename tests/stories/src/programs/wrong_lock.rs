//! Everybody takes a lock before touching the data, but not everybody takes the same one. Retells
//! *Wrong Lock* of the cooperative-testing suite.
//!
//! One preemption, of one thread inside its critical section.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "wrong_lock",
    pattern: "the same data under different locks",
    buggy: || run(|shared| &shared.other),
    correct: || run(|shared| &shared.lock),
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

#[derive(Default)]
struct Shared {
    lock: Mutex<()>,
    other: Mutex<()>,
    data: AtomicUsize,
}

fn count(lock: &Mutex<()>, data: &AtomicUsize) {
    let _held = lock.lock().unwrap();
    let seen = data.load(SeqCst);
    data.store(seen + 1, SeqCst);
}

fn run(lock_of_last: fn(&Shared) -> &Mutex<()>) {
    let shared = Arc::new(Shared::default());
    crowd(3, &shared, move |shared, number| {
        let lock = match number {
            2 => lock_of_last(shared),
            _ => &shared.lock,
        };
        count(lock, &shared.data);
    });
    assert_eq!(shared.data.load(SeqCst), 3, "an update was lost");
}
