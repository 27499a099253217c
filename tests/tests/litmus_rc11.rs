//! Litmus tests with known numbers of classes, under RC11 and under sequential consistency; and more
//! of them against the axioms.
//!
//! The numbers are first of all those of the axioms as `raddle_tests::axiomatic` has them, so they
//! say that the oracle is right. Then raddle is compared with it, under the models it has.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use raddle_tests::axiomatic::compare::compare;
use raddle_tests::axiomatic::program::{
    Litmus, Location, R0, R1, Statement, X, Y, fence, litmus, load, store,
};
use raddle_tests::axiomatic::{Model, classes};

/// Asserts how many classes there are under RC11 and under sequential consistency, and that raddle
/// runs them.
#[track_caller]
fn assert_counts(rc11: usize, sc: usize, litmus: &Litmus) {
    let found = (classes(litmus, Model::Rc11), classes(litmus, Model::Sc));
    assert_eq!(found, (rc11, sc), "{litmus}");
    assert_compared(litmus);
}

/// Asserts that raddle runs what the axioms allow.
#[track_caller]
fn assert_compared(litmus: &Litmus) {
    if let Err(text) = compare(litmus) {
        panic!("{text}\nin\n{litmus}");
    }
}

fn read(from: Location, ordering: Ordering) -> Statement {
    load(R0, from, ordering)
}

fn store_buffering(write: Ordering, read_ordering: Ordering) -> Litmus {
    litmus([
        vec![store(X, 1, write), read(Y, read_ordering)],
        vec![store(Y, 1, write), read(X, read_ordering)],
    ])
}

#[test]
fn store_buffering_counts() {
    assert_counts(4, 3, &store_buffering(Relaxed, Relaxed));
    assert_counts(4, 3, &store_buffering(Release, Acquire));
    assert_counts(3, 3, &store_buffering(SeqCst, SeqCst));
    assert_counts(4, 3, &store_buffering(SeqCst, Acquire));
    assert_counts(4, 3, &store_buffering(Release, SeqCst));
}

#[test]
fn store_buffering_with_fences() {
    let fenced = |ordering| {
        litmus([
            vec![store(X, 1, Relaxed), fence(ordering), read(Y, Relaxed)],
            vec![store(Y, 1, Relaxed), fence(ordering), read(X, Relaxed)],
        ])
    };
    assert_counts(3, 3, &fenced(SeqCst));
    assert_counts(4, 3, &fenced(AcqRel));
}

fn message_passing(write: Ordering, read_ordering: Ordering) -> Litmus {
    litmus([
        vec![store(X, 1, Relaxed), store(Y, 1, write)],
        vec![read(Y, read_ordering), load(R1, X, Relaxed)],
    ])
}

#[test]
fn message_passing_counts() {
    assert_counts(4, 3, &message_passing(Relaxed, Relaxed));
    assert_counts(4, 3, &message_passing(Release, Relaxed));
    assert_counts(4, 3, &message_passing(Relaxed, Acquire));
    assert_counts(3, 3, &message_passing(Release, Acquire));
    assert_counts(3, 3, &message_passing(SeqCst, SeqCst));
}

#[test]
fn message_passing_with_fences() {
    let fenced = |release, acquire| {
        litmus([
            vec![store(X, 1, Relaxed), fence(release), store(Y, 1, Relaxed)],
            vec![read(Y, Relaxed), fence(acquire), load(R1, X, Relaxed)],
        ])
    };
    assert_counts(3, 3, &fenced(Release, Acquire));
    assert_counts(3, 3, &fenced(SeqCst, SeqCst));
    assert_counts(4, 3, &fenced(Acquire, Release));
}

#[test]
fn load_buffering() {
    let threads = |ordering, write| {
        litmus([
            vec![read(X, ordering), store(Y, 1, write)],
            vec![read(Y, ordering), store(X, 1, write)],
        ])
    };
    assert_counts(3, 3, &threads(Relaxed, Relaxed));
    assert_counts(3, 3, &threads(Acquire, Release));
}

#[test]
fn two_plus_two_writes() {
    let threads = |first, second| {
        litmus([
            vec![store(X, 1, first), store(Y, 2, second)],
            vec![store(Y, 1, first), store(X, 2, second)],
        ])
    };
    assert_counts(4, 3, &threads(Relaxed, Relaxed));
    assert_counts(4, 3, &threads(Release, Release));
    assert_counts(3, 3, &threads(SeqCst, SeqCst));
}

fn independent_reads(write: Ordering, first: Ordering, second: Ordering) -> Litmus {
    litmus([
        vec![store(X, 1, write)],
        vec![store(Y, 1, write)],
        vec![read(X, first), load(R1, Y, second)],
        vec![read(Y, first), load(R1, X, second)],
    ])
}

#[test]
fn independent_reads_of_independent_writes() {
    assert_counts(16, 15, &independent_reads(Release, Acquire, Acquire));
    assert_counts(15, 15, &independent_reads(SeqCst, SeqCst, SeqCst));
    // Repaired C11 allows what C11 forbade, or else Power could not have it.
    assert_counts(16, 15, &independent_reads(SeqCst, Acquire, SeqCst));
}

#[test]
fn store_then_load_and_store() {
    let threads = |write, ordering| {
        litmus([
            vec![store(X, 2, Relaxed), store(Y, 1, write)],
            vec![read(Y, ordering), store(X, 1, Relaxed)],
        ])
    };
    assert_counts(4, 3, &threads(Relaxed, Relaxed));
    assert_counts(3, 3, &threads(Release, Acquire));
}

#[test]
fn coherence_of_two_reads() {
    let threads = litmus([
        vec![store(X, 1, Relaxed), store(X, 2, Relaxed)],
        vec![read(X, Relaxed), load(R1, X, Relaxed)],
    ]);
    assert_counts(6, 6, &threads);
}
