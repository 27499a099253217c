//! The exhaustive search against plain enumeration of all schedules, on random programs: the same
//! classes, none twice, no run in vain.
//!
//! `RADDLE_TEST_PROGRAMS=100000 cargo test --release -p raddle-tests --test brute_force` compares
//! more than the usual number; `RADDLE_TEST_SEED` starts elsewhere.

use std::collections::HashMap;

use fastrand::Rng;
use raddle::Strategy;
use raddle_tests::compare::{self, Classes, ShownOnPanic, assert_same, setting};
use raddle_tests::random_program::Program;
use raddle_tests::resumed::in_pieces;

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 20_000;

/// Every class of the program by running all its schedules; `None` if there are too many.
fn enumerate(program: &Program, strategy: Strategy) -> Option<Classes> {
    let checker = program.checker(strategy).max_executions(MAX_SCHEDULES);
    compare::enumerate(checker, || program.run())
}

/// Every class of the program as the search finds them.
fn search(program: &Program) -> Classes {
    compare::search(program.checker(Strategy::Exhaustive), || program.run()).0
}

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 1_000);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let (mut compared, mut waiting, mut total, mut largest) = (0, 0, 0, 0);
    let mut by_threads = HashMap::<usize, u64>::new();
    while compared < programs {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let Some(expected) = enumerate(&program, Strategy::EnumeratePrivateFirst) else {
            continue;
        };
        let found = search(&program);
        assert_same(&expected, &found);
        compared += 1;
        waiting += u32::from(program.waits());
        total += found.len();
        largest = largest.max(found.len());
        *by_threads.entry(program.threads.len() + 1).or_default() += 1;
    }
    println!(
        "{compared} programs, {waiting} with waits, {total} classes, at most {largest} in one; by \
         threads: {by_threads:?}"
    );
}

#[test]
fn threads_that_pause_again_and_again_come_later_and_lose_no_class() {
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 6));
    let mut compared = 0;
    while compared < setting("RADDLE_TEST_PROGRAMS", 150) {
        let program = Program::random(&mut rng).with_pauses(&mut rng);
        let _shown = ShownOnPanic(&program);
        if let Some(expected) = enumerate(&program, Strategy::EnumeratePrivateFirst) {
            assert_same(&expected, &search(&program));
            compared += 1;
        }
    }
}

#[test]
fn the_order_in_which_threads_are_created_never_changes_a_count() {
    let mut rng = Rng::with_seed(7);
    let mut compared = 0;
    while compared < 150 {
        let mut program = Program::random(&mut rng);
        if program.threads.len() < 2
            || enumerate(&program, Strategy::EnumeratePrivateFirst).is_none()
        {
            continue;
        }
        let classes = search(&program).len();
        program.threads.reverse();
        assert_eq!(search(&program).len(), classes, "{program:?}");
        rng.shuffle(&mut program.threads);
        assert_eq!(search(&program).len(), classes, "{program:?}");
        compared += 1;
    }
}

#[test]
fn performing_private_operations_first_loses_no_class() {
    let mut rng = Rng::with_seed(3);
    let mut compared = 0;
    while compared < 100 {
        let program = Program::random(&mut rng);
        let Some(all) = enumerate(&program, Strategy::Enumerate) else {
            continue;
        };
        let reduced = enumerate(&program, Strategy::EnumeratePrivateFirst);
        assert!(reduced == Some(all), "{program:?}");
        compared += 1;
    }
}

#[test]
fn a_search_in_pieces_has_the_same_classes() {
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 3));
    let (mut programs, mut total) = (0, 0);
    while programs < 60 {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let expected = search(&program);
        if !(2..100).contains(&expected.len()) {
            continue;
        }
        for executions in [1, 7] {
            let checker = program.checker(Strategy::Exhaustive);
            assert_same(
                &expected,
                &in_pieces(&checker, executions, || program.run()),
            );
        }
        programs += 1;
        total += expected.len();
    }
    println!("{programs} programs, {total} classes");
}

#[test]
fn several_workers_find_the_same_classes() {
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 4));
    for _ in 0..200 {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let expected = search(&program);
        let checker = program.checker(Strategy::Exhaustive).workers(3);
        assert_same(&expected, &compare::search(checker, || program.run()).0);
    }
}

#[test]
fn the_order_in_which_branches_are_taken_makes_no_difference() {
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 5));
    for seed in 0..setting("RADDLE_TEST_PROGRAMS", 500) {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let expected = search(&program);
        let checker = program.checker(Strategy::Auto).seed(seed);
        assert_same(&expected, &compare::walk(checker, || program.run()).0);
    }
}
