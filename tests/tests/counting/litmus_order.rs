//! What RC11 lets threads see of each other, by the axioms and under raddle: release sequences,
//! updates, branches, starts and joins.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use raddle_tests::axiomatic::compare::{assert_allows, assert_counts};
use raddle_tests::axiomatic::program::{
    Litmus, R0, R1, Statement, X, Y, Z, compare_exchange, fence, fetch_add, litmus, load, store,
    swap, when,
};
use raddle_tests::axiomatic::shapes::{
    FENCES, R, STORE_BUFFERING, TWO_PLUS_TWO, acquires, releases,
};
use raddle_tests::axiomatic::{Model, allowed};

/// One thread writes X and then sets Y to 1, others do something to Y, the last one reads Y and X.
fn published(flag: Vec<Statement>, others: Vec<Vec<Statement>>, end: Vec<Statement>) -> Litmus {
    let mut first = vec![store(X, 1, Relaxed)];
    first.extend(flag);
    let mut threads = vec![first];
    threads.extend(others);
    threads.push(end);
    Litmus {
        threads,
        ..Litmus::default()
    }
}

fn acquiring() -> Vec<Statement> {
    vec![load(R0, Y, Acquire), load(R1, X, Relaxed)]
}

#[test]
fn a_release_sequence_goes_on_through_updates() {
    let flag = || vec![store(Y, 1, Release)];
    for ordering in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
        let add = vec![fetch_add(R0, Y, 1, ordering)];
        let litmus = published(flag(), vec![add], acquiring());
        assert_allows(false, &[1, 2, 0], &litmus);
        // It may come first, and then it continues nothing.
        assert_allows(true, &[0, 1, 0], &litmus);
        let exchange = vec![compare_exchange(R0, Y, 1, 2, ordering, Relaxed)];
        let litmus = published(flag(), vec![exchange], acquiring());
        assert_allows(false, &[1, 2, 0], &litmus);
        let exchange = vec![swap(R0, Y, 2, ordering)];
        let litmus = published(flag(), vec![exchange], acquiring());
        assert_allows(false, &[1, 2, 0], &litmus);
        assert_allows(true, &[0, 2, 0], &litmus);
    }
    let add = || vec![fetch_add(R0, Y, 1, Relaxed)];
    let litmus = published(flag(), vec![add(), add()], acquiring());
    assert_allows(false, &[1, 2, 3, 0], &litmus);
    assert_allows(false, &[2, 1, 3, 0], &litmus);
    assert_allows(true, &[0, 1, 2, 0], &litmus);
}

#[test]
fn a_release_sequence_ends_at_a_store() {
    let flag = || vec![store(Y, 1, Release)];
    let other = vec![store(Y, 2, Relaxed)];
    let litmus = published(flag(), vec![other], acquiring());
    assert_allows(true, &[2, 0], &litmus);
    assert_allows(false, &[1, 0], &litmus);
    // A store of the same thread went on with the sequence until C++20.
    let twice = vec![store(Y, 1, Release), store(Y, 2, Relaxed)];
    let litmus = published(twice, vec![], acquiring());
    assert_allows(true, &[2, 0], &litmus);
    assert_allows(false, &[1, 0], &litmus);
    // An update of the same thread does.
    let twice = vec![store(Y, 1, Release), fetch_add(R0, Y, 1, Relaxed)];
    let litmus = published(twice, vec![], acquiring());
    assert_allows(false, &[1, 2, 0], &litmus);
}

#[test]
fn a_release_sequence_begins_after_a_fence() {
    let flag = |ordering| vec![fence(ordering), store(Y, 1, Relaxed)];
    let add = || vec![fetch_add(R0, Y, 1, Relaxed)];
    let fenced = |ordering| vec![load(R0, Y, Relaxed), fence(ordering), load(R1, X, Relaxed)];
    for first in FENCES.into_iter().flatten() {
        for last in FENCES.into_iter().flatten() {
            let is_allowed = !(releases(first) && acquires(last));
            let litmus = published(flag(first), vec![add()], fenced(last));
            assert_allows(is_allowed, &[1, 2, 0], &litmus);
        }
        let is_allowed = !releases(first);
        let litmus = published(flag(first), vec![add()], acquiring());
        assert_allows(is_allowed, &[1, 2, 0], &litmus);
    }
    // A fence in the middle releases too, but not what it did not acquire.
    let middle = vec![load(R0, Y, Relaxed), fence(Release), store(Z, 1, Relaxed)];
    let end = vec![load(R0, Z, Acquire), load(R1, X, Relaxed)];
    let litmus = published(vec![store(Y, 1, Release)], vec![middle], end);
    assert_allows(true, &[1, 1, 0], &litmus);
}

#[test]
fn the_orderings_of_an_update_are_those_of_its_halves() {
    for ordering in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
        let publish = vec![fetch_add(R0, Y, 1, ordering)];
        let litmus = published(publish, vec![], acquiring());
        assert_allows(!releases(ordering), &[0, 1, 0], &litmus);
        let end = vec![swap(R0, Y, 2, ordering), load(R1, X, Relaxed)];
        let litmus = published(vec![store(Y, 1, Release)], vec![], end);
        assert_allows(!acquires(ordering), &[1, 0], &litmus);
    }
    for failure in [Relaxed, Acquire, SeqCst] {
        // It fails whatever it finds.
        let end = vec![
            compare_exchange(R0, Y, 7, 8, AcqRel, failure),
            load(R1, X, Relaxed),
        ];
        let litmus = published(vec![store(Y, 1, Release)], vec![], end);
        assert_allows(failure == Relaxed, &[1, 0], &litmus);
        // It succeeds, and the other ordering is what counts.
        let end = vec![
            compare_exchange(R0, Y, 1, 2, Relaxed, failure),
            load(R1, X, Relaxed),
        ];
        let litmus = published(vec![store(Y, 1, Release)], vec![], end);
        assert_allows(true, &[1, 0], &litmus);
    }
}

/// An example by which Lahav and others explain why SeqCst had to be repaired.
#[test]
fn an_update_in_between_makes_no_order_of_seq_cst() {
    let z6_u = litmus([
        vec![store(X, 1, SeqCst), store(Y, 1, Release)],
        vec![fetch_add(R0, Y, 1, SeqCst), load(R1, Y, Relaxed)],
        vec![store(Y, 3, SeqCst), load(R0, X, SeqCst)],
    ]);
    assert_allows(true, &[1, 3, 0], &z6_u);
}

/// Store buffering in three threads: the second goes on with what the first was about to do.
#[test]
fn seq_cst_holds_across_a_hand_over() {
    let handed_over = |write, read, release, acquire| {
        litmus([
            vec![store(X, 1, write), store(Z, 1, release)],
            vec![load(R0, Z, acquire), load(R1, Y, read)],
            vec![store(Y, 1, write), load(R0, X, read)],
        ])
    };
    let weak = &[1, 0, 0];
    assert_allows(false, weak, &handed_over(SeqCst, SeqCst, Release, Acquire));
    assert_allows(true, weak, &handed_over(SeqCst, SeqCst, Relaxed, Acquire));
    assert_allows(true, weak, &handed_over(SeqCst, SeqCst, Release, Relaxed));
    assert_allows(true, weak, &handed_over(Release, SeqCst, Release, Acquire));
    assert_allows(true, weak, &handed_over(SeqCst, Acquire, Release, Acquire));
}

#[test]
fn a_seq_cst_fence_in_one_thread_holds_against_accesses_in_the_other() {
    for shape in [STORE_BUFFERING, TWO_PLUS_TWO, R] {
        let mixed = |fence, write, read| {
            let mut litmus = shape.with(write, read);
            let fenced = shape.fenced(Relaxed, Relaxed, |_| fence);
            litmus.threads[0] = fenced.threads[0].clone();
            litmus
        };
        assert_counts(3, 3, &mixed(Some(SeqCst), SeqCst, SeqCst));
        assert_counts(4, 3, &mixed(Some(AcqRel), SeqCst, SeqCst));
        assert_counts(4, 3, &mixed(Some(SeqCst), Release, Acquire));
    }
}

#[test]
fn an_exchange_that_fails_is_a_read() {
    let threads = |failure| {
        let looks = |location| compare_exchange(R0, location, 7, 8, Relaxed, failure);
        litmus([
            vec![store(X, 1, SeqCst), looks(Y)],
            vec![store(Y, 1, SeqCst), looks(X)],
        ])
    };
    assert_counts(3, 3, &threads(SeqCst));
    assert_counts(4, 3, &threads(Acquire));
}

#[test]
fn a_branch_does_not_order_what_comes_after_it() {
    let guarded = |ordering| {
        litmus([
            vec![store(X, 1, Relaxed), store(Y, 1, Release)],
            vec![load(R0, Y, ordering), when(R0, 1, [load(R1, X, Relaxed)])],
        ])
    };
    assert_counts(3, 2, &guarded(Relaxed));
    assert_counts(2, 2, &guarded(Acquire));
    let fenced = litmus([
        vec![store(X, 1, Relaxed), store(Y, 1, Release)],
        vec![
            load(R0, Y, Relaxed),
            when(R0, 1, [fence(Acquire), load(R1, X, Relaxed)]),
        ],
    ]);
    assert_counts(2, 2, &fenced);
}

#[test]
fn nothing_comes_out_of_thin_air() {
    let copies = litmus([
        vec![load(R0, X, Relaxed), store(Y, R0, Relaxed)],
        vec![load(R0, Y, Relaxed), store(X, R0, Relaxed)],
    ]);
    assert_counts(3, 3, &copies);
    let outcomes = allowed(&copies, Model::Rc11).outcomes;
    assert_eq!(outcomes, [vec![0, 0]].into());
}

#[test]
fn starting_and_joining_a_thread_orders() {
    let litmus = litmus([vec![load(R0, X, Relaxed), store(Y, 1, Relaxed)]])
        .before([store(X, 1, Relaxed)])
        .after([load(R0, Y, Relaxed)]);
    assert_counts(1, 1, &litmus);
    assert_allows(true, &[1, 1], &litmus);
}
