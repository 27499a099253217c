//! A lock made by hand from a flag and a condition variable. A thread that finds the flag taken
//! counts itself among the waiters and waits; unlock wakes a waiter, if any. The flag may be
//! given back between being found taken and the count. Retells the first of the mutexes in
//! Drepper's "Futexes are tricky". The twin looks at the flag again before it waits.
//!
//! One thread is interrupted while it holds the lock, and another between its look and the count:
//! two preemptions.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "handmade_lock",
    pattern: "decides to wait before it can be seen to wait",
    buggy: || run(|_| true),
    correct: || run(|lock| lock.is_taken.load(SeqCst)),
    facts: Facts::new(FailureKind::Deadlock, 2, 2),
}];

#[derive(Default)]
struct Lock {
    is_taken: AtomicBool,
    waiters: AtomicUsize,
    sleepers: Mutex<()>,
    free: Condvar,
    inside: AtomicUsize,
}

fn lock(lock: &Lock, must_sleep: fn(&Lock) -> bool) {
    while lock.is_taken.swap(true, SeqCst) {
        lock.waiters.fetch_add(1, SeqCst);
        let guard = lock.sleepers.lock().unwrap();
        if must_sleep(lock) {
            drop(lock.free.wait(guard).unwrap());
        }
        lock.waiters.fetch_sub(1, SeqCst);
    }
}

fn unlock(lock: &Lock) {
    lock.is_taken.store(false, SeqCst);
    if lock.waiters.load(SeqCst) > 0 {
        let _guard = lock.sleepers.lock().unwrap();
        lock.free.notify_one();
    }
}

fn run(must_sleep: fn(&Lock) -> bool) {
    crowd(2, &Arc::new(Lock::default()), move |shared, _| {
        lock(shared, must_sleep);
        let others = shared.inside.fetch_add(1, SeqCst);
        assert_eq!(others, 0, "two threads hold the lock");
        shared.inside.fetch_sub(1, SeqCst);
        unlock(shared);
    });
}
