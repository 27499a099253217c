//! A fixed number of requests is granted in each second. The first thread of a new second resets
//! the count; two may both take themselves for it, and the slower one discards what the faster one
//! has granted.
//!
//! One preemption, of the slower one between noticing the new second and setting the count back;
//! the others take all there is in that time.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "rate_limiter",
    pattern: "two threads start the same new period, one after the other has used it",
    buggy: || {
        run(|limiter| {
            if limiter.second.load(SeqCst) != NOW {
                limiter.granted.store(0, SeqCst);
                limiter.second.store(NOW, SeqCst);
            }
        })
    },
    correct: || {
        run(|limiter| {
            let _held = limiter.lock.lock().unwrap();
            if limiter.second.load(SeqCst) != NOW {
                limiter.granted.store(0, SeqCst);
                limiter.second.store(NOW, SeqCst);
            }
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

const NOW: usize = 1;
const LIMIT: usize = 2;

#[derive(Default)]
struct Limiter {
    lock: Mutex<()>,
    second: AtomicUsize,
    granted: AtomicUsize,
    served: AtomicUsize,
}

fn run(start: fn(&Limiter)) {
    let limiter = Arc::new(Limiter::default());
    crowd(3, &limiter, move |limiter, _| {
        start(limiter);
        if limiter.granted.fetch_add(1, SeqCst) < LIMIT {
            limiter.served.fetch_add(1, SeqCst);
        }
    });
    let served = limiter.served.load(SeqCst);
    assert!(served <= LIMIT, "{served} requests in one second");
}
