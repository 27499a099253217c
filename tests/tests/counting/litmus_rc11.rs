//! Litmus tests with known numbers of classes, under RC11 and under sequential consistency.
//!
//! The numbers are first of all those of the axioms as `raddle_tests::axiomatic` has them, so they
//! say that the oracle is right. Then raddle is compared with it, under the models it has.

use std::sync::Mutex;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use raddle::sync::Arc;
use raddle::sync::atomic::AtomicU32;
use raddle::{Checker, Memory, Strategy, thread};
use raddle_tests::axiomatic::compare::{assert_compared, assert_counts};
use raddle_tests::axiomatic::program::{Litmus, R0, R1, X, Y, fence, litmus, load, store};
use raddle_tests::axiomatic::run::{MODELS, observe};
use raddle_tests::axiomatic::shapes::{
    FENCES, IRIW, ISA2, LOAD_BUFFERING, MESSAGE_PASSING, R, RWC, S, STORE_BUFFERING, Shape,
    TWO_PLUS_TWO, W_RWC, WRC, Z6, acquires, releases,
};
use raddle_tests::axiomatic::{Model, allowed, classes};

#[test]
fn store_buffering() {
    assert_counts(4, 3, &STORE_BUFFERING.with(Relaxed, Relaxed));
    assert_counts(4, 3, &STORE_BUFFERING.with(Release, Acquire));
    assert_counts(3, 3, &STORE_BUFFERING.with(SeqCst, SeqCst));
    // SeqCst is of no use if not all have it.
    assert_counts(4, 3, &STORE_BUFFERING.with(SeqCst, Acquire));
    assert_counts(4, 3, &STORE_BUFFERING.with(Release, SeqCst));
}

#[test]
fn message_passing() {
    assert_counts(4, 3, &MESSAGE_PASSING.with(Relaxed, Relaxed));
    assert_counts(4, 3, &MESSAGE_PASSING.with(Release, Relaxed));
    assert_counts(4, 3, &MESSAGE_PASSING.with(Relaxed, Acquire));
    assert_counts(3, 3, &MESSAGE_PASSING.with(Release, Acquire));
    assert_counts(3, 3, &MESSAGE_PASSING.with(SeqCst, SeqCst));
    // Only the flag needs an ordering.
    let flag_only = litmus([
        vec![store(X, 1, Relaxed), store(Y, 1, Release)],
        vec![load(R0, Y, Acquire), load(R1, X, Relaxed)],
    ]);
    assert_counts(3, 3, &flag_only);
}

#[test]
fn load_buffering() {
    assert_counts(3, 3, &LOAD_BUFFERING.with(Relaxed, Relaxed));
    assert_counts(3, 3, &LOAD_BUFFERING.with(Release, Acquire));
}

#[test]
fn two_plus_two_writes() {
    assert_counts(4, 3, &TWO_PLUS_TWO.with(Relaxed, Relaxed));
    assert_counts(4, 3, &TWO_PLUS_TWO.with(Release, Relaxed));
    assert_counts(3, 3, &TWO_PLUS_TWO.with(SeqCst, Relaxed));
}

#[test]
fn two_writes_against_a_read_and_a_write() {
    assert_counts(4, 3, &S.with(Relaxed, Relaxed));
    assert_counts(3, 3, &S.with(Release, Acquire));
    assert_counts(4, 3, &R.with(Relaxed, Relaxed));
    assert_counts(4, 3, &R.with(Release, Acquire));
    assert_counts(3, 3, &R.with(SeqCst, SeqCst));
}

#[test]
fn independent_reads_of_independent_writes() {
    assert_counts(16, 15, &IRIW.with(Relaxed, Relaxed));
    assert_counts(16, 15, &IRIW.with(Release, Acquire));
    assert_counts(15, 15, &IRIW.with(SeqCst, SeqCst));
    assert_counts(15, 15, &IRIW.fenced(Relaxed, Relaxed, |_| Some(SeqCst)));
    // C11 forbade it, and Power had to be slower than it needs to be.
    let acquire_first = litmus([
        vec![store(X, 1, SeqCst)],
        vec![store(Y, 1, SeqCst)],
        vec![load(R0, X, Acquire), load(R1, Y, SeqCst)],
        vec![load(R0, Y, Acquire), load(R1, X, SeqCst)],
    ]);
    assert_counts(16, 15, &acquire_first);
}

#[test]
fn coherence_of_two_reads() {
    for (write, read) in [(Relaxed, Relaxed), (Release, Acquire), (SeqCst, SeqCst)] {
        let threads = litmus([
            vec![store(X, 1, write), store(X, 2, write)],
            vec![load(R0, X, read), load(R1, X, read)],
        ]);
        assert_counts(6, 6, &threads);
    }
}

/// Asserts how many classes there are with relaxed accesses, with release and acquire, and with
/// SeqCst, be it by accesses or by fences.
fn assert_shape(shape: &Shape, relaxed: usize, release_acquire: usize, sc: usize) {
    println!("{}", shape.name);
    assert_counts(relaxed, sc, &shape.with(Relaxed, Relaxed));
    assert_counts(release_acquire, sc, &shape.with(Release, Acquire));
    assert_counts(sc, sc, &shape.with(SeqCst, SeqCst));
    assert_counts(sc, sc, &shape.fenced(Relaxed, Relaxed, |_| Some(SeqCst)));
}

/// Each of three conflicts goes one way or the other, and one of the eight cases is a circle.
#[test]
fn three_threads_in_a_circle() {
    assert_shape(&WRC, 8, 7, 7);
    assert_shape(&RWC, 8, 8, 7);
    assert_shape(&ISA2, 8, 7, 7);
    assert_shape(&W_RWC, 8, 8, 7);
    // Only in Z6.2 is everything handed over but for one conflict.
    for (shape, release_acquire) in Z6.iter().zip([8, 8, 7, 8, 8, 8]) {
        assert_shape(shape, 8, release_acquire, 7);
    }
}

#[test]
fn fences_between_two_threads() {
    let classes = |shape: &Shape, fences: [Option<Ordering>; 2]| {
        let litmus = shape.fenced(Relaxed, Relaxed, |number| fences[number]);
        assert_compared(&litmus);
        classes(&litmus, Model::Rc11)
    };
    for first in FENCES {
        for second in FENCES {
            let fences = [first, second];
            let both_sc = fences == [Some(SeqCst); 2];
            let handed_over = first.is_some_and(releases) && second.is_some_and(acquires);
            let count = |is_strong| if is_strong { 3 } else { 4 };
            assert_eq!(classes(&STORE_BUFFERING, fences), count(both_sc));
            assert_eq!(classes(&MESSAGE_PASSING, fences), count(handed_over));
            assert_eq!(classes(&LOAD_BUFFERING, fences), 3);
            assert_eq!(classes(&TWO_PLUS_TWO, fences), count(both_sc));
            assert_eq!(classes(&S, fences), count(handed_over));
            assert_eq!(classes(&R, fences), count(both_sc));
        }
    }
}

#[test]
fn fences_between_three_threads() {
    for shape in [WRC, RWC, ISA2, W_RWC].into_iter().chain(Z6) {
        println!("{}", shape.name);
        for kinds in 0..125 {
            let fence = |number| FENCES[[kinds / 25, kinds / 5 % 5, kinds % 5][number]];
            // A thread that does one thing has no place for a fence.
            if shape.threads[0].len() > 1 || fence(0).is_none() {
                assert_compared(&shape.fenced(Relaxed, Relaxed, fence));
            }
        }
    }
}

#[test]
fn a_fence_of_each_kind_in_each_place() {
    let places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
    for shape in [STORE_BUFFERING, MESSAGE_PASSING, S, R] {
        println!("{}", shape.name);
        for other in FENCES {
            for (thread, place) in places {
                let between = |number| other.filter(|_| number != thread);
                for ordering in FENCES.into_iter().flatten() {
                    for (write, read) in [(Relaxed, Relaxed), (Release, Acquire)] {
                        let mut litmus = shape.fenced(write, read, between);
                        litmus.threads[thread].insert(place, fence(ordering));
                        assert_compared(&litmus);
                    }
                }
            }
        }
    }
}

/// What loom misses most of: each thread loads and stores `times` times, main joins them and loads.
fn counter(threads: usize, times: usize) -> Litmus {
    let increment = [load(R0, X, Relaxed), store(X, R0 + 1, Relaxed)];
    Litmus {
        threads: vec![vec![increment; times].concat(); threads],
        after: vec![load(R0, X, Relaxed)],
        ..Litmus::default()
    }
}

#[test]
fn counters_have_all_their_sources_of_reads() {
    let counters = [
        (counter(2, 1), 4, 4),
        (counter(2, 2), 26, 34),
        (counter(3, 1), 27, 36),
    ];
    for (litmus, sources, count) in counters {
        assert_counts(count, count, &litmus);
        assert_eq!(allowed(&litmus, Model::Rc11).reads_from.len(), sources);
        for model in MODELS {
            let observed = observe(&litmus, model, &Strategy::Exhaustive, 1_000);
            let observed = observed.expect("nothing fails").expect("it ends");
            assert_eq!(observed.reads_from.len(), sources, "{litmus}");
        }
    }
}

/// A graph becomes weak in the middle of an execution, and has another linearization from then on. Threads that
/// yield are inserted late, but linearized early. So the read comes before the write that is its next source.
#[test]
fn a_read_takes_a_source_after_which_it_was_inserted() {
    let read = Mutex::new(Vec::new());
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Rc11);
    let report = checker.run(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let pausing = |pauses: usize, body: fn(&AtomicU32, &AtomicU32) -> u32| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                (0..pauses).for_each(|_| thread::yield_now());
                body(&shared.0, &shared.1)
            })
        };
        let last = pausing(8, |x, _| {
            x.store(2, SeqCst);
            0
        });
        let reader = pausing(16, |x, y| {
            let value = x.load(SeqCst);
            y.store(1, Relaxed);
            value
        });
        let first = pausing(0, |x, _| {
            x.store(1, SeqCst);
            0
        });
        last.join().unwrap();
        first.join().unwrap();
        read.lock().unwrap().push(reader.join().unwrap());
    });
    assert!(report.exhausted);
    let mut read = read.into_inner().unwrap();
    read.sort_unstable();
    // Two coherence orders, and three sources in each.
    assert_eq!(read, [0, 0, 1, 1, 2, 2]);
}
