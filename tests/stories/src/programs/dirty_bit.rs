//! A reader takes a copy without a lock and checks before and after for a writer. *Dirty
//! bit*: a flag is set during a write, and a whole write between two reads goes unnoticed.
//! *Version wraps*: writes are counted in one bit, and two whole writes go unnoticed. The twins
//! count writes as a seqlock does.
//!
//! One preemption, of the reader between the two halves; the writer must do all of its steps there.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "dirty_bit",
        pattern: "a flag says that nobody writes now, not that nobody has written",
        buggy: || run(1, 2, 2),
        correct: || run(1, 8, 2),
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
    Story {
        name: "version_wraps",
        pattern: "a version counter comes back to where it was",
        buggy: || run(2, 4, 3),
        correct: || run(2, 8, 3),
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
];

#[derive(Default)]
struct Record {
    /// Odd during a write.
    version: AtomicUsize,
    parts: [AtomicUsize; 3],
}

/// Writes the value to all parts; the version counts modulo `versions`.
fn write(record: &Record, value: usize, versions: usize) {
    let before = record.version.load(SeqCst);
    record.version.store((before + 1) % versions, SeqCst);
    for part in &record.parts {
        part.store(value, SeqCst);
    }
    record.version.store((before + 2) % versions, SeqCst);
}

/// The first parts, or `None` if the version shows a write.
fn read(record: &Record, parts: usize) -> Option<Vec<usize>> {
    let before = record.version.load(SeqCst);
    if before % 2 == 1 {
        return None;
    }
    let copy = (record.parts[..parts].iter()).map(|part| part.load(SeqCst));
    let copy = copy.collect();
    (record.version.load(SeqCst) == before).then_some(copy)
}

fn run(writes: usize, versions: usize, parts: usize) {
    crowd(3, &Arc::new(Record::default()), move |record, number| {
        if number == 0 {
            for value in 1..=writes {
                write(record, value, versions);
            }
        } else if let Some(copy) = read(record, parts) {
            let is_one = copy.iter().all(|part| *part == copy[0]);
            assert!(is_one, "parts of different values: {copy:?}");
        }
    });
}
