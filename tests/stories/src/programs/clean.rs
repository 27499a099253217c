//! A thread compares the number of events with what it has handled, takes the lock and waits for
//! the next event, without looking again. An event in between is not noticed. Retells *Clean* of
//! the cooperative-testing suite, a wait and notify deadlock.
//!
//! One preemption, between the look and the lock.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "clean",
    pattern: "looks for an event before taking the lock to wait for it",
    buggy: || run(look_then_lock),
    correct: || run(lock_then_look),
    facts: Facts::new(FailureKind::LostWakeup, 2, 1),
}];

const EVENTS: usize = 2;

#[derive(Default)]
struct Events {
    count: AtomicUsize,
    lock: Mutex<()>,
    happened: Condvar,
}

fn look_then_lock(events: &Events) {
    for handled in 0..EVENTS {
        while events.count.load(SeqCst) == handled {
            let guard = events.lock.lock().unwrap();
            drop(events.happened.wait(guard).unwrap());
        }
    }
}

fn lock_then_look(events: &Events) {
    for handled in 0..EVENTS {
        let mut guard = events.lock.lock().unwrap();
        while events.count.load(SeqCst) == handled {
            guard = events.happened.wait(guard).unwrap();
        }
    }
}

fn signal(events: &Events) {
    for _ in 0..EVENTS {
        let _guard = events.lock.lock().unwrap();
        events.count.fetch_add(1, SeqCst);
        events.happened.notify_all();
    }
}

fn run(handle: fn(&Events)) {
    together(&Arc::new(Events::default()), [handle, signal]);
}
