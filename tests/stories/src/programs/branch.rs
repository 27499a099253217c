//! Whether a thread takes the lock depends on what it has read: a fresh record is filled in under
//! the lock, and one that is there already is "only" changed, without. Example 4.4 of branch
//! reduction, a race that only one side of a branch has.
//!
//! Two preemptions: the record must be there when the thread looks and another change must be on
//! its way (one), and that change or the thread must be interrupted in the middle (two).

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "branch",
    pattern: "takes the lock on one side of a branch only",
    buggy: || {
        run(|record| {
            let is_fresh = *record.lock.lock().unwrap() == 0;
            if is_fresh {
                let _held = record.lock.lock().unwrap();
                record.add();
            } else {
                record.add();
            }
        })
    },
    correct: || {
        run(|record| {
            let _held = record.lock.lock().unwrap();
            record.add();
        })
    },
    facts: Facts::new(FailureKind::Panic, 2, 2),
}];

#[derive(Default)]
struct Record {
    /// Guards the amount, and counts the changes.
    lock: Mutex<usize>,
    amount: AtomicUsize,
}

impl Record {
    fn add(&self) {
        let seen = self.amount.load(SeqCst);
        self.amount.store(seen + 1, SeqCst);
    }
}

fn change_twice(record: &Record) {
    for _ in 0..2 {
        let mut changes = record.lock.lock().unwrap();
        *changes += 1;
        record.add();
    }
}

fn run(change: fn(&Record)) {
    let record = Arc::new(Record::default());
    together(&record, [change, change_twice]);
    assert_eq!(record.amount.load(SeqCst), 3, "a change was lost");
}
