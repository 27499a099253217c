//! Producers and consumers of seats share one condition variable, and each change wakes one thread.
//! A producer that should have woken a consumer can wake the other producer, which waits again, and
//! then every thread waits. Retells *Piper* of the cooperative-testing suite.
//!
//! No preemption: threads are switched only when they wait or have ended, and the choice is whom a
//! notification wakes.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "piper",
        pattern: "producers and consumers wait for the same notification, sent to one of them",
        buggy: || run(2, 2, 2, wake_one),
        correct: || run(2, 2, 2, wake_all),
        facts: Facts::new(FailureKind::Deadlock, 4, 0),
    },
    Story {
        name: "one_condvar",
        pattern: "one producer and two consumers wait for the same notification",
        buggy: || run(1, 2, 1, wake_one),
        correct: || run(1, 2, 1, wake_all),
        facts: Facts::new(FailureKind::Deadlock, 3, 0),
    },
];

/// A queue with a fixed number of places.
struct Queue {
    items: Mutex<usize>,
    places: usize,
    changed: Condvar,
}

impl Queue {
    fn new(places: usize) -> Arc<Self> {
        Arc::new(Queue {
            items: Mutex::new(0),
            places,
            changed: Condvar::new(),
        })
    }

    /// Waits with `changed` until there is a place.
    fn place(&self) -> MutexGuard<'_, usize> {
        let mut items = self.items.lock().unwrap();
        while *items == self.places {
            items = self.changed.wait(items).unwrap();
        }
        items
    }

    /// Waits with `changed` until there is an item.
    fn item(&self) -> MutexGuard<'_, usize> {
        let mut items = self.items.lock().unwrap();
        while *items == 0 {
            items = self.changed.wait(items).unwrap();
        }
        items
    }
}

fn wake_one(queue: &Queue) {
    queue.changed.notify_one();
}

fn wake_all(queue: &Queue) {
    queue.changed.notify_all();
}

/// Passes `items` items for each consumer through a queue with one place.
fn run(producers: usize, consumers: usize, items: usize, wake: fn(&Queue)) {
    let queue = Queue::new(1);
    crowd(producers + consumers, &queue, move |queue, number| {
        if number < producers {
            for _ in 0..items * consumers / producers {
                *queue.place() += 1;
                wake(queue);
            }
        } else {
            for _ in 0..items {
                *queue.item() -= 1;
                wake(queue);
            }
        }
    });
}
