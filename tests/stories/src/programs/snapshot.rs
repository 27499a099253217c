//! A snapshot of two variables that are never both set: one is set and cleared, then the other.
//! *Torn snapshot* reads one after the other. *Double collect* reads both twice and takes equal
//! results for a proof that nothing has changed, which they are not, since values come back. The
//! twins read under the writer's lock.
//!
//! Torn: the writer is interrupted when the first is set, the reader after reading it, the writer
//! when the second is set: three preemptions. Double collect: the same, then the reader after its
//! first collect, and the whole again: seven.

use super::prelude::*;

const fn story(
    name: &'static str,
    pattern: &'static str,
    preemptions: u32,
    buggy: fn(),
    correct: fn(),
) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::new(FailureKind::Panic, 2, preemptions),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "torn_snapshot",
        "variables that change are read one after the other",
        3,
        || run(|shared| Some(shared.collect())),
        || {
            run(|shared| {
                let _held = shared.lock.lock().unwrap();
                Some(shared.collect())
            })
        },
    ),
    story(
        "double_collect",
        "two equal collects are taken for a snapshot",
        7,
        || run(Shared::collect_twice),
        || {
            run(|shared| {
                let _held = shared.lock.lock().unwrap();
                shared.collect_twice()
            })
        },
    ),
];

#[derive(Default)]
struct Shared {
    lock: Mutex<()>,
    first: AtomicBool,
    second: AtomicBool,
}

impl Shared {
    fn collect(&self) -> [bool; 2] {
        [self.first.load(SeqCst), self.second.load(SeqCst)]
    }

    fn collect_twice(&self) -> Option<[bool; 2]> {
        let collected = self.collect();
        (self.collect() == collected).then_some(collected)
    }

    fn blink(&self) {
        for variable in [&self.first, &self.second] {
            let _held = self.lock.lock().unwrap();
            variable.store(true, SeqCst);
            variable.store(false, SeqCst);
        }
    }
}

fn run(snapshot: fn(&Shared) -> Option<[bool; 2]>) {
    crowd(2, &Arc::new(Shared::default()), move |shared, number| {
        if number == 0 {
            shared.blink();
            shared.blink();
        } else {
            let snapshot = snapshot(shared);
            assert_ne!(snapshot, Some([true; 2]), "they are never both set");
        }
    });
}
