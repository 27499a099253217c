//! A pool of workers. A worker that finds no job looks whether the pool is closed, and goes home if
//! it is. A job that is added and the closing of the pool may both come between the two looks; if
//! all workers go home like that, the last job is never done. The twin looks for a job once more.
//!
//! One preemption, of a worker between its looks, if the other has found nothing and gone home
//! before.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "last_job",
    pattern: "workers look for jobs first and for the end second",
    buggy: || run(|_| false),
    correct: || run(Pool::try_job),
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

#[derive(Default)]
struct Pool {
    jobs: Mutex<usize>,
    closed: AtomicBool,
    done: AtomicUsize,
    /// Whether a worker has gone home for good.
    ended: AtomicBool,
}

impl Pool {
    fn try_job(&self) -> bool {
        let mut jobs = self.jobs.lock().unwrap();
        let is_there = *jobs > 0;
        if is_there {
            *jobs -= 1;
            self.done.fetch_add(1, SeqCst);
        }
        is_there
    }
}

const JOBS: usize = 2;

fn run(look_again: fn(&Pool) -> bool) {
    let pool = Arc::new(Pool::default());
    crowd(3, &pool, move |pool, number| match number {
        0 => submit(pool),
        _ => work(pool, look_again),
    });
    let done = pool.done.load(SeqCst);
    let ended = pool.ended.load(SeqCst);
    assert!(
        !ended || done == JOBS,
        "the end came after {done} of {JOBS} jobs"
    );
}

fn submit(pool: &Pool) {
    for _ in 0..JOBS {
        *pool.jobs.lock().unwrap() += 1;
    }
    pool.closed.store(true, SeqCst);
}

/// Works until there is nothing to do. What is left when the pool is not closed is for later.
fn work(pool: &Pool, look_again: fn(&Pool) -> bool) {
    loop {
        if pool.try_job() {
            continue;
        }
        let closed = pool.closed.load(SeqCst);
        if closed && look_again(pool) {
            continue;
        }
        pool.ended.fetch_or(closed, SeqCst);
        return;
    }
}
