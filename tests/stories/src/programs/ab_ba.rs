//! Two locks in two orders, and one lock twice. *AB-BA* is the smallest deadlock. *Listener*: a
//! list of listeners is locked while they are told, and one that has heard enough takes itself off
//! the list.
//!
//! One preemption for AB-BA, between the locks. The listener needs none: it waits for itself.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "ab_ba",
        pattern: "two locks are taken in two orders",
        buggy: || both([0, 1], [1, 0]),
        correct: || both([0, 1], [0, 1]),
        facts: Facts::new(FailureKind::Deadlock, 2, 1),
    },
    Story {
        name: "listener",
        pattern: "a callback is called under a lock that it takes itself",
        buggy: || {
            tell(|events| {
                let listeners = events.listeners.lock().unwrap();
                (0..*listeners).for_each(|_| events.listen());
            })
        },
        correct: || {
            tell(|events| {
                let listeners = *events.listeners.lock().unwrap();
                (0..listeners).for_each(|_| events.listen());
            })
        },
        facts: Facts::new(FailureKind::Deadlock, 3, 0),
    },
];

fn both(one: [usize; 2], other: [usize; 2]) {
    let locks = Arc::new([Mutex::new(0), Mutex::new(0)]);
    crowd(2, &locks, move |locks, number| {
        let [first, second] = if number == 0 { one } else { other };
        let mut first = locks[first].lock().unwrap();
        let mut second = locks[second].lock().unwrap();
        *first += 1;
        *second += 1;
    });
}

#[derive(Default)]
struct Events {
    listeners: Mutex<usize>,
    told: AtomicUsize,
}

impl Events {
    /// The only listener; it has heard enough after three events.
    fn listen(&self) {
        if self.told.fetch_add(1, SeqCst) == 2 {
            *self.listeners.lock().unwrap() -= 1;
        }
    }
}

/// Two threads have something to tell, and the listener comes some time.
fn tell(tell: fn(&Events)) {
    crowd(3, &Arc::new(Events::default()), move |events, number| {
        if number == 0 {
            *events.listeners.lock().unwrap() += 1;
        } else {
            tell(events);
            tell(events);
        }
    });
}
