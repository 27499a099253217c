//! Random programs of the rarer primitives: the search against plain enumeration, as in
//! `brute_force.rs`.

use std::collections::BTreeMap;

use raddle::{Checker, Strategy};
use raddle_tests::compare::{assert_same, same_classes, search, walk};
use raddle_tests::random_objects::{Program, Theme};
use raddle_tests::resumed::in_pieces;
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 10_000;

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let (mut total, mut largest) = (0, 0);
    let mut by_theme = BTreeMap::<Theme, u64>::new();
    Suite::new(120, 1).run(Program::random, |program, _| {
        let Some(found) = same_classes(&Checker::new(), MAX_SCHEDULES, || program.run()) else {
            return Verdict::Skipped;
        };
        total += found;
        largest = largest.max(found);
        *by_theme.entry(program.theme).or_default() += 1;
        Verdict::Agreed
    });
    println!("{total} classes, at most {largest} in one; {by_theme:?}");
}

#[test]
fn searches_in_pieces_by_several_workers_and_in_any_order_have_the_same_classes() {
    Suite::new(10, 5).run(Program::random, |program, rng| {
        let checker = Checker::new();
        let expected = search(checker.clone(), || program.run()).0;
        if !(2..100).contains(&expected.len()) {
            return Verdict::Skipped;
        }
        for executions in [1, 7] {
            assert_same(
                &expected,
                &in_pieces(&checker, executions, || program.run()),
            );
        }
        let several = search(checker.clone().workers(3), || program.run()).0;
        assert_same(&expected, &several);
        let scattered = checker.strategy(Strategy::Auto).seed(rng.u64(..));
        assert_same(&expected, &walk(scattered, || program.run()).0);
        Verdict::Agreed
    });
}
