//! A consumer takes being woken for an item. It may have been woken for one that another consumer,
//! who came later and did not wait, has taken.
//!
//! No preemption, because a wake-up may be spurious. std allows that and shuttle does not try it:
//! there a consumer that has not waited must come between.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "if_not_while",
    pattern: "does not look again after waiting",
    buggy: || {
        consume(|shared| {
            let mut items = shared.items.lock().unwrap();
            if *items == 0 {
                items = shared.added.wait(items).unwrap();
            }
            items
        })
    },
    correct: || {
        consume(|shared| {
            let mut items = shared.items.lock().unwrap();
            while *items == 0 {
                items = shared.added.wait(items).unwrap();
            }
            items
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 0),
}];

#[derive(Default)]
struct Shared {
    items: Mutex<usize>,
    added: Condvar,
}

fn consume(wait: fn(&Shared) -> MutexGuard<'_, usize>) {
    crowd(3, &Arc::new(Shared::default()), move |shared, number| {
        if number == 0 {
            for _ in 0..2 {
                *shared.items.lock().unwrap() += 1;
                shared.added.notify_one();
            }
        } else {
            let mut items = wait(shared);
            let before = *items;
            *items = before.saturating_sub(1);
            drop(items);
            assert_ne!(before, 0, "there is no item");
        }
    });
}
