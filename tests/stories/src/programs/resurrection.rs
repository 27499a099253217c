//! A cache keeps a weak reference. To use it, a thread looks whether the count of references is
//! above zero and then adds its own. The last owners may give theirs back in between, and what was
//! freed comes back to life. The twin adds only to a count that is above zero, in one step.
//!
//! One preemption, between the look and the addition; both owners must give back in that time.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "resurrection",
    pattern: "a reference is added to a count that was above zero a moment ago",
    buggy: || {
        run(|count| {
            let alive = count.load(SeqCst) > 0;
            if alive {
                count.fetch_add(1, SeqCst);
            }
            alive
        })
    },
    correct: || {
        run(|count| {
            let one_more = |count| (count > 0).then_some(count + 1);
            count.fetch_update(SeqCst, SeqCst, one_more).is_ok()
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

struct Shared {
    count: AtomicUsize,
    uses: AtomicUsize,
    freed: AtomicBool,
}

impl Shared {
    fn touch(&self) {
        self.uses.fetch_add(1, SeqCst);
        assert!(!self.freed.load(SeqCst), "used after it was freed");
    }

    fn give_back(&self) {
        if self.count.fetch_sub(1, SeqCst) == 1 {
            self.freed.store(true, SeqCst);
        }
    }
}

fn run(add: fn(&AtomicUsize) -> bool) {
    let shared = Arc::new(Shared {
        count: AtomicUsize::new(2),
        uses: AtomicUsize::new(0),
        freed: AtomicBool::new(false),
    });
    crowd(3, &shared, move |shared, number| {
        // Two owners, and one who has only the cache.
        if number < 2 || add(&shared.count) {
            shared.touch();
            shared.give_back();
        }
    });
}
