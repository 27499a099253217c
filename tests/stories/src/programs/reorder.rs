//! Setters write the two halves of a pair, one after the other; a checker reads both and finds a
//! pair that no setter wrote. Retells *Reorder* of the cooperative-testing suite.
//!
//! One preemption, of the first setter between its writes or of the checker between its reads. With
//! more setters it is over sooner: after the first of them the pair never changes.

use super::prelude::*;

const fn story(name: &'static str, setters: usize, buggy: fn(), correct: fn()) -> Story {
    Story {
        name,
        pattern: "two variables that belong together are written one after the other",
        buggy,
        correct,
        facts: match setters {
            4 => Facts::new(FailureKind::Panic, setters + 1, 1),
            _ => Facts::large(FailureKind::Panic, setters + 1),
        },
    }
}

pub(super) const STORIES: &[Story] = &[
    story("reorder", 4, || in_two_steps(4), || at_once(4)),
    story("reorder_10", 10, || in_two_steps(10), || at_once(10)),
];

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

fn in_two_steps(setters: usize) {
    with_checker(setters, &Arc::new(Pair::default()), set, get);
}

fn at_once(setters: usize) {
    let pair = Arc::new(Mutex::new((0, 0)));
    let set = |pair: &Mutex<_>| *pair.lock().unwrap() = (1, -1);
    with_checker(setters, &pair, set, |pair| *pair.lock().unwrap());
}

fn with_checker<P: Send + Sync + 'static>(
    setters: usize,
    pair: &Arc<P>,
    set: fn(&P),
    get: fn(&P) -> (i32, i32),
) {
    crowd(setters + 1, pair, move |pair, number| {
        if number < setters {
            set(pair);
        } else {
            let pair = get(pair);
            assert!(matches!(pair, (0, 0) | (1, -1)), "half a pair: {pair:?}");
        }
    });
}
