//! Larger programs, of the size of a real test: more threads, and each does more than the mistake.
//!
//! *Pool shutdown*: workers wait for jobs, and the flag that sends them home is set without the
//! lock they wait with. *Pipeline*: stages with a bounded queue between any two, which share one
//! condition variable and wake one thread. *Busy page*: several writers, and a flush that clears
//! the flag too late.

use super::prelude::*;

const fn story(
    name: &'static str,
    pattern: &'static str,
    (kind, threads): (FailureKind, usize),
    buggy: fn(),
    correct: fn(),
) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::large(kind, threads),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "pool_shutdown",
        "workers are sent home without the lock that they wait with",
        (FailureKind::LostWakeup, 4),
        || pool(|pool| pool.closed.store(true, SeqCst)),
        || {
            pool(|pool| {
                let _held = pool.jobs.lock().unwrap();
                pool.closed.store(true, SeqCst);
            })
        },
    ),
    story(
        "pipeline",
        "stages wait for different things with one condition variable",
        (FailureKind::Deadlock, 4),
        || pipeline(Condvar::notify_one),
        || pipeline(Condvar::notify_all),
    ),
    story(
        "page_busy",
        "a flag is cleared after the work, while several write",
        (FailureKind::Panic, 4),
        || {
            pages(|page| {
                let version = page.version.load(SeqCst);
                page.saved.store(version, SeqCst);
                page.dirty.store(false, SeqCst);
            })
        },
        || {
            pages(|page| {
                page.dirty.store(false, SeqCst);
                let version = page.version.load(SeqCst);
                page.saved.store(version, SeqCst);
            })
        },
    ),
];

#[derive(Default)]
struct Pool {
    jobs: Mutex<usize>,
    changed: Condvar,
    closed: AtomicBool,
    done: AtomicUsize,
}

impl Pool {
    fn work(&self) {
        loop {
            let mut jobs = self.jobs.lock().unwrap();
            while *jobs == 0 {
                if self.closed.load(SeqCst) {
                    return;
                }
                jobs = self.changed.wait(jobs).unwrap();
            }
            *jobs -= 1;
            drop(jobs);
            self.done.fetch_add(1, SeqCst);
        }
    }
}

/// Three workers do four jobs and are then sent home.
fn pool(close: fn(&Pool)) {
    let pool = Arc::new(Pool::default());
    crowd(4, &pool, move |pool, number| {
        if number > 0 {
            return pool.work();
        }
        for _ in 0..4 {
            *pool.jobs.lock().unwrap() += 1;
            pool.changed.notify_one();
        }
        close(pool);
        pool.changed.notify_all();
    });
    assert_eq!(pool.done.load(SeqCst), 4);
}

#[derive(Default)]
struct Pipeline {
    /// How much is between each two stages; there is one place each.
    queues: Mutex<[usize; 3]>,
    changed: Condvar,
}

/// Three items go through four stages.
fn pipeline(wake: fn(&Condvar)) {
    crowd(4, &Arc::new(Pipeline::default()), move |pipeline, stage| {
        for _ in 0..3 {
            let mut queues = pipeline.queues.lock().unwrap();
            if stage > 0 {
                while queues[stage - 1] == 0 {
                    queues = pipeline.changed.wait(queues).unwrap();
                }
                queues[stage - 1] = 0;
                wake(&pipeline.changed);
            }
            while stage < 3 && queues[stage] == 1 {
                queues = pipeline.changed.wait(queues).unwrap();
            }
            if stage < 3 {
                queues[stage] = 1;
                wake(&pipeline.changed);
            }
        }
    });
}

#[derive(Default)]
struct Page {
    version: AtomicUsize,
    dirty: AtomicBool,
    saved: AtomicUsize,
}

/// Three threads write twice each, and one flushes twice.
fn pages(save: fn(&Page)) {
    let page = Arc::new(Page::default());
    crowd(4, &page, move |page, number| {
        for _ in 0..2 {
            if number > 0 {
                page.version.fetch_add(1, SeqCst);
                page.dirty.store(true, SeqCst);
            } else if page.dirty.load(SeqCst) {
                save(page);
            }
        }
    });
    let clean = !page.dirty.load(SeqCst);
    let saved = page.saved.load(SeqCst);
    assert!(!clean || saved == 6, "the page is clean at version {saved}");
}
