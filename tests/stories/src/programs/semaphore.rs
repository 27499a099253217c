//! A semaphore whose `up` first counts and then, under the lock taken again, wakes a waiter if the
//! count has become 1. Two that come up together count to 2, neither finds 1, and the waiter is
//! never woken. Retells *Semaphore* of the cooperative-testing suite, variants c and d of its `up`.
//!
//! There is one permit less than there are clients. Each client but the last is interrupted when it
//! has its permit, so that the last waits; then one is interrupted between counting and looking. So
//! it takes as many preemptions as there are clients.

use super::prelude::*;

const fn story(name: &'static str, clients: usize, buggy: fn(), correct: fn()) -> Story {
    Story {
        name,
        pattern: "counts under a lock, looks at the count under the lock taken again",
        buggy,
        correct,
        facts: match clients {
            ..5 => Facts::new(FailureKind::Deadlock, clients, clients as u32),
            _ => Facts::large(FailureKind::Deadlock, clients),
        },
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "semaphore_two_stage",
        3,
        || run(3, up_in_two_stages),
        || run(3, up),
    ),
    story(
        "semaphore_unlocked",
        3,
        || run(3, up_and_look_unlocked),
        || run(3, up),
    ),
    story(
        "semaphore_crowd",
        4,
        || run(4, up_in_two_stages),
        || run(4, up),
    ),
    story("semaphore_8", 8, || run(8, up_in_two_stages), || run(8, up)),
];

struct Semaphore {
    value: AtomicUsize,
    lock: Mutex<()>,
    risen: Condvar,
}

fn down(semaphore: &Semaphore) {
    let mut guard = semaphore.lock.lock().unwrap();
    while semaphore.value.load(SeqCst) == 0 {
        guard = semaphore.risen.wait(guard).unwrap();
    }
    semaphore.value.fetch_sub(1, SeqCst);
}

fn up(semaphore: &Semaphore) {
    let _guard = semaphore.lock.lock().unwrap();
    if semaphore.value.fetch_add(1, SeqCst) == 0 {
        semaphore.risen.notify_one();
    }
}

fn up_in_two_stages(semaphore: &Semaphore) {
    let guard = semaphore.lock.lock().unwrap();
    semaphore.value.fetch_add(1, SeqCst);
    drop(guard);
    let _guard = semaphore.lock.lock().unwrap();
    if semaphore.value.load(SeqCst) == 1 {
        semaphore.risen.notify_one();
    }
}

fn up_and_look_unlocked(semaphore: &Semaphore) {
    let guard = semaphore.lock.lock().unwrap();
    semaphore.value.fetch_add(1, SeqCst);
    drop(guard);
    if semaphore.value.load(SeqCst) == 1 {
        let _guard = semaphore.lock.lock().unwrap();
        semaphore.risen.notify_one();
    }
}

/// One permit less than there are clients.
fn run(clients: usize, up: fn(&Semaphore)) {
    let semaphore = Arc::new(Semaphore {
        value: AtomicUsize::new(clients - 1),
        lock: Mutex::new(()),
        risen: Condvar::new(),
    });
    crowd(clients, &semaphore, move |semaphore, _| {
        down(semaphore);
        up(semaphore);
    });
    assert_eq!(semaphore.value.load(SeqCst), clients - 1);
}
