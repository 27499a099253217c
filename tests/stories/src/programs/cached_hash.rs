//! A hash code is computed when first asked for and kept. It is computed in the very field in which
//! it is kept, so a second thread can read a half-computed one. Retells *Apache Commons
//! Lang* of the cooperative-testing suite: one object, two hash codes.
//!
//! One preemption, while the first thread computes.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "cached_hash",
    pattern: "a value is computed where others already look for it",
    buggy: || run(hash_in_place),
    correct: || run(hash_aside),
    facts: Facts::new(FailureKind::Panic, 2, 1),
}];

const FIELDS: [usize; 3] = [3, 5, 7];
const HASH: usize = ((17 * 37 + 3) * 37 + 5) * 37 + 7;

fn hash_in_place(hash: &AtomicUsize) -> usize {
    if hash.load(SeqCst) == 0 {
        hash.store(17, SeqCst);
        for field in FIELDS {
            hash.store(hash.load(SeqCst) * 37 + field, SeqCst);
        }
    }
    hash.load(SeqCst)
}

fn hash_aside(hash: &AtomicUsize) -> usize {
    if hash.load(SeqCst) == 0 {
        let computed = FIELDS.iter().fold(17, |hash, field| hash * 37 + field);
        hash.store(computed, SeqCst);
    }
    hash.load(SeqCst)
}

fn run(hash_of: fn(&AtomicUsize) -> usize) {
    crowd(2, &Arc::new(AtomicUsize::new(0)), move |hash, _| {
        assert_eq!(hash_of(hash), HASH, "the hash of an object never changes");
    });
}
