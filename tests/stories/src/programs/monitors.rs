//! Two old acquaintances with condition variables. *Nested monitor*: a thread waits inside one
//! monitor while it holds the lock of another, which who should wake it needs first. *Off by one*:
//! a buffer is taken to be full when it holds more than it has places for.
//!
//! Neither needs a preemption: the waiter must come first, and the producer must be ahead.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "nested_monitor",
        pattern: "waits with a lock in hand that the one who should wake it needs",
        buggy: || {
            nested(|shared| {
                let _outer = shared.outer.lock().unwrap();
                shared.wait();
            })
        },
        correct: || {
            nested(|shared| {
                drop(shared.outer.lock().unwrap());
                shared.wait();
            })
        },
        facts: Facts::new(FailureKind::Deadlock, 2, 0),
    },
    Story {
        name: "off_by_one",
        pattern: "a buffer is full only when it holds one too many",
        buggy: || buffer(|items| items > PLACES),
        correct: || buffer(|items| items >= PLACES),
        facts: Facts::new(FailureKind::Panic, 2, 0),
    },
];

#[derive(Default)]
struct Nested {
    outer: Mutex<()>,
    is_ready: Mutex<bool>,
    ready: Condvar,
}

impl Nested {
    fn wait(&self) {
        let is_ready = self.is_ready.lock().unwrap();
        let wait = self.ready.wait_while(is_ready, |is_ready| !*is_ready);
        drop(wait.unwrap());
    }
}

fn nested(wait: fn(&Nested)) {
    together(
        &Arc::new(Nested::default()),
        [wait, |shared| {
            let _outer = shared.outer.lock().unwrap();
            *shared.is_ready.lock().unwrap() = true;
            shared.ready.notify_all();
        }],
    );
}

const PLACES: usize = 2;
const ITEMS: usize = 4;

#[derive(Default)]
struct Buffer {
    places: [AtomicUsize; PLACES],
    items: Mutex<usize>,
    changed: Condvar,
}

impl Buffer {
    /// Waits as long as the number of items is as it should not be.
    fn wait_while(&self, wrong: impl Fn(usize) -> bool) -> MutexGuard<'_, usize> {
        let items = self.items.lock().unwrap();
        let wait = self.changed.wait_while(items, |items| wrong(*items));
        wait.unwrap()
    }
}

fn buffer(is_full: fn(usize) -> bool) {
    crowd(2, &Arc::new(Buffer::default()), move |buffer, number| {
        for item in 0..ITEMS {
            let place = &buffer.places[item % PLACES];
            if number == 0 {
                let mut items = buffer.wait_while(is_full);
                place.store(item, SeqCst);
                *items += 1;
            } else {
                let mut items = buffer.wait_while(|items| items == 0);
                let found = place.load(SeqCst);
                *items -= 1;
                drop(items);
                assert_eq!(found, item, "an item was overwritten");
            }
            buffer.changed.notify_all();
        }
    });
}
