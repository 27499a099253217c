//! Memory without locks: a reader takes a pointer and puts up a sign that it uses it; who replaces
//! the pointer looks for signs before it frees the old one. The sign may come too late. The twin
//! looks again after putting up the sign, as hazard pointers do (Michael 2004).
//!
//! One preemption, of a reader between taking the pointer and the sign; replacing, looking at all
//! signs and freeing must happen in that time.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "hazard",
    pattern: "a sign that something is in use is put up after it was taken",
    buggy: || run(|_, _| true),
    correct: || run(|shared, node| shared.current.load(SeqCst) == node),
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

const READERS: usize = 2;

struct Shared {
    /// Nodes are numbers, and 0 is none.
    current: AtomicUsize,
    signs: [AtomicUsize; READERS],
    freed: AtomicUsize,
}

fn replace(shared: &Shared) {
    let old = shared.current.swap(2, SeqCst);
    let in_use = |sign: &AtomicUsize| sign.load(SeqCst) == old;
    if !shared.signs.iter().any(in_use) {
        shared.freed.store(old, SeqCst);
    }
}

fn run(may_use: fn(&Shared, usize) -> bool) {
    let shared = Arc::new(Shared {
        current: AtomicUsize::new(1),
        signs: Default::default(),
        freed: AtomicUsize::new(0),
    });
    crowd(READERS + 1, &shared, move |shared, number| {
        if number == READERS {
            return replace(shared);
        }
        let node = shared.current.load(SeqCst);
        shared.signs[number].store(node, SeqCst);
        if may_use(shared, node) {
            let freed = shared.freed.load(SeqCst);
            assert_ne!(freed, node, "memory is used that was freed");
        }
        shared.signs[number].store(0, SeqCst);
    });
}
