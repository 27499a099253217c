//! Setters write the two halves of a pair, one after the other; a checker reads both and finds a
//! pair that nobody ever meant. Retells *Reorder* of the cooperative-testing suite.
//!
//! One preemption, of the first setter between its writes or of the checker between its reads. With
//! more setters it is over sooner: after the first of them the pair never changes.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "reorder",
    pattern: "two variables that belong together are written one after the other",
    buggy: || {
        let pair = Arc::new(Pair::default());
        with_checker(&pair, set, get);
    },
    correct: || {
        let pair = Arc::new(Mutex::new((0, 0)));
        let set = |pair: &Mutex<_>| *pair.lock().unwrap() = (1, -1);
        with_checker(&pair, set, |pair| *pair.lock().unwrap());
    },
    facts: Facts::new(FailureKind::Panic, 5, 1),
}];

const SETTERS: usize = 4;

#[derive(Default)]
struct Pair {
    first: AtomicI32,
    second: AtomicI32,
}

fn set(pair: &Pair) {
    pair.first.store(1, SeqCst);
    pair.second.store(-1, SeqCst);
}

fn get(pair: &Pair) -> (i32, i32) {
    (pair.first.load(SeqCst), pair.second.load(SeqCst))
}

fn with_checker<P: Send + Sync + 'static>(pair: &Arc<P>, set: fn(&P), get: fn(&P) -> (i32, i32)) {
    crowd(SETTERS + 1, pair, move |pair, number| {
        if number < SETTERS {
            set(pair);
        } else {
            let pair = get(pair);
            assert!(matches!(pair, (0, 0) | (1, -1)), "half a pair: {pair:?}");
        }
    });
}
