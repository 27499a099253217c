//! A table grows: its entries are copied to a larger one, and the larger one takes its place. An
//! entry that is added to the old table after its bucket was copied is lost. The twin adds under
//! the lock of the resize.
//!
//! Who adds has found the old table and is interrupted, and the copy passes its bucket: one
//! preemption.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "resize",
    pattern: "an entry is added to a table that is being replaced",
    buggy: || run(Table::add),
    correct: || {
        run(|table, entry| {
            let _held = table.lock.lock().unwrap();
            table.add(entry);
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 1),
}];

const BUCKETS: usize = 3;

#[derive(Default)]
struct Table {
    lock: Mutex<()>,
    /// Which of the two is used.
    current: AtomicUsize,
    buckets: [[AtomicUsize; BUCKETS]; 2],
}

impl Table {
    fn add(&self, entry: usize) {
        let current = self.current.load(SeqCst);
        self.buckets[current][entry].store(1, SeqCst);
    }

    fn grow(&self) {
        let _held = self.lock.lock().unwrap();
        let [old, new] = &self.buckets;
        for (old, new) in old.iter().zip(new) {
            new.store(old.load(SeqCst), SeqCst);
        }
        self.current.store(1, SeqCst);
    }
}

fn run(add: fn(&Table, usize)) {
    let table = Arc::new(Table::default());
    crowd(3, &table, move |table, number| match number {
        0 => table.grow(),
        number => add(table, number),
    });
    let current = &table.buckets[table.current.load(SeqCst)];
    let entries: usize = current.iter().map(|bucket| bucket.load(SeqCst)).sum();
    assert_eq!(entries, 2, "an entry was lost");
}
