//! Random programs of the rarer primitives: the search against plain enumeration, as in
//! `brute_force.rs`.
//!
//! `RADDLE_TEST_PROGRAMS` and `RADDLE_TEST_SEED` do what they do there.

use std::collections::BTreeMap;

use fastrand::Rng;
use raddle::{Checker, Strategy};
use raddle_tests::compare::{ShownOnPanic, assert_same, same_classes, search, setting, walk};
use raddle_tests::random_objects::{Program, Theme};
use raddle_tests::resumed::in_pieces;

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 10_000;

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 600);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let (mut compared, mut total, mut largest) = (0, 0, 0);
    let mut by_theme = BTreeMap::<Theme, u64>::new();
    while compared < programs {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let Some(found) = same_classes(&Checker::new(), MAX_SCHEDULES, || program.run()) else {
            continue;
        };
        compared += 1;
        total += found;
        largest = largest.max(found);
        *by_theme.entry(program.theme).or_default() += 1;
    }
    println!("{compared} programs, {total} classes, at most {largest} in one; {by_theme:?}");
}

#[test]
fn searches_in_pieces_by_several_workers_and_in_any_order_have_the_same_classes() {
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 5));
    let mut programs = 0;
    while programs < 40 {
        let program = Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = Checker::new();
        let expected = search(checker.clone(), || program.run()).0;
        if !(2..100).contains(&expected.len()) {
            continue;
        }
        for executions in [1, 7] {
            assert_same(
                &expected,
                &in_pieces(&checker, executions, || program.run()),
            );
        }
        let several = search(checker.clone().workers(3), || program.run()).0;
        assert_same(&expected, &several);
        let scattered = checker.strategy(Strategy::Auto).seed(programs);
        assert_same(&expected, &walk(scattered, || program.run()).0);
        programs += 1;
    }
}
