//! Random litmus programs: what raddle runs against what the axioms of the memory model allow, the
//! same classes and none twice; and what must hold of the axioms themselves.
//!
//! `RADDLE_TEST_PROGRAMS=20000 cargo test -p raddle-tests --test axioms` compares more than the usual
//! number; `RADDLE_TEST_SEED` starts elsewhere.

use std::collections::BTreeMap;

use fastrand::Rng;
use raddle_tests::axiomatic::compare::compare;
use raddle_tests::axiomatic::guesses;
use raddle_tests::axiomatic::program::Litmus;
use raddle_tests::axiomatic::random::random;
use raddle_tests::axiomatic::shrink::shrink;
use raddle_tests::compare::setting;

/// Programs with more ways to guess than this are too much for a naive enumerator.
const MAX_GUESSES: usize = 5_000;

/// So many random programs of the right size.
fn programs(count: u64) -> impl Iterator<Item = Litmus> {
    let seed = setting("RADDLE_TEST_SEED", 1);
    println!("the seed is {seed}");
    let mut rng = Rng::with_seed(seed);
    let all = std::iter::repeat_with(move || random(&mut rng));
    let right = all.filter(|litmus| guesses(litmus) <= MAX_GUESSES);
    right.take(count as usize)
}

/// Panics with the smallest program that fails, if this one does.
fn shown_smallest(litmus: &Litmus, result: Result<usize, String>) -> usize {
    result.unwrap_or_else(|_| {
        let smallest = shrink(litmus, |smaller| compare(smaller).is_err());
        let text = compare(&smallest).expect_err("it still fails");
        panic!("{text}\nin\n{smallest}\nwhich was at first\n{litmus}");
    })
}

#[test]
fn random_programs_have_the_classes_that_the_axioms_allow() {
    let (mut compared, mut total, mut largest) = (0, 0, 0);
    let mut by_threads = BTreeMap::<usize, u64>::new();
    for litmus in programs(setting("RADDLE_TEST_PROGRAMS", 2_000)) {
        let classes = shown_smallest(&litmus, compare(&litmus));
        compared += 1;
        total += classes;
        largest = largest.max(classes);
        *by_threads.entry(litmus.threads.len()).or_default() += 1;
    }
    println!(
        "{compared} programs, {total} classes, at most {largest} in one; by threads beside main: \
         {by_threads:?}"
    );
}
