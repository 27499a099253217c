//! A pool of objects looks for its factory without a lock and then uses it. Who closes the pool
//! takes the factory away, if no object is in use; whether one is, a third thread decides. So the
//! race shows only after one of two branches. Retells a race of Apache Commons Pool, a subject of
//! branch reduction.
//!
//! One preemption, between looking and using; the other two must run in that time, in that order.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "pool_factory",
    pattern: "a race behind a branch that a third thread decides",
    buggy: || {
        run(|pool| {
            if pool.factory.lock().unwrap().is_some() {
                let factory = *pool.factory.lock().unwrap();
                factory.expect("there is a factory");
            }
        })
    },
    correct: || {
        run(|pool| {
            if let Some(factory) = &mut *pool.factory.lock().unwrap() {
                *factory += 1;
            }
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

struct Pool {
    factory: Mutex<Option<u32>>,
    in_use: Mutex<usize>,
    closed: AtomicUsize,
}

fn close(pool: &Pool) {
    let in_use = pool.in_use.lock().unwrap();
    if *in_use == 0 {
        pool.factory.lock().unwrap().take();
    }
    pool.closed.fetch_add(1, SeqCst);
}

fn give_back(pool: &Pool) {
    for _ in 0..2 {
        *pool.in_use.lock().unwrap() -= 1;
    }
}

fn run(make: fn(&Pool)) {
    let pool = Arc::new(Pool {
        factory: Mutex::new(Some(0)),
        in_use: Mutex::new(2),
        closed: AtomicUsize::new(0),
    });
    together(&pool, [make, close, give_back]);
}
