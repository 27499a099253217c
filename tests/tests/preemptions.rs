//! Bounded searches: exactly the classes that can be run with so few preemptions.
//!
//! The oracle runs every schedule and counts the preemptions of each by what the world says of its
//! threads; the cheapest schedule of a class is what the class costs. `RADDLE_TEST_PROGRAMS` and
//! `RADDLE_TEST_SEED` do what they do in `brute_force.rs`.

use std::collections::HashMap;

use fastrand::Rng;
use raddle::{Checker, Strategy};
use raddle_engine::ClassEntry;
use raddle_tests::compare::{Classes, ShownOnPanic, assert_same, setting};
use raddle_tests::{random_objects, random_program};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 4_000;

/// What each class costs, by running all schedules; `None` if there are too many.
fn costs(
    checker: &Checker,
    program: impl Fn() + Send + Sync,
) -> Option<HashMap<Vec<ClassEntry>, u32>> {
    let mut costs = HashMap::new();
    let checker = checker
        .clone()
        .strategy(Strategy::Enumerate)
        .keep_going(true)
        .shorten(false)
        .max_executions(MAX_SCHEDULES);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        let (_, cost) = costs
            .entry(execution.fingerprint())
            .or_insert_with(|| (execution.class(), u32::MAX));
        *cost = execution.preemptions.min(*cost);
    });
    report.exhausted.then(|| costs.into_values().collect())
}

/// The classes that a bounded search runs, none twice.
fn bounded(checker: &Checker, most: u32, program: impl Fn() + Send + Sync) -> Classes {
    let mut classes = Classes::new();
    let checker = checker
        .clone()
        .strategy(Strategy::Exhaustive)
        .preemptions(most)
        .keep_going(true)
        .shorten(false);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        assert!(classes.insert(execution.class()), "a class was run twice");
    });
    assert_eq!(report.executions, classes.len() as u64);
    classes
}

fn compare(checker: &Checker, program: impl Fn() + Send + Sync) -> Option<Vec<usize>> {
    let costs = costs(checker, &program)?;
    let mut found = Vec::new();
    for most in 0..=4 {
        let cheap = costs.iter().filter(|&(_, &cost)| cost <= most);
        let expected: Classes = cheap.map(|(class, _)| class.clone()).collect();
        let classes = bounded(checker, most, &program);
        assert_same(&expected, &classes);
        found.push(classes.len());
    }
    Some(found)
}

#[test]
fn random_programs() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 300);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let mut compared = 0;
    let mut total = [0; 5];
    while compared < programs {
        let program = random_program::Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Exhaustive);
        let Some(found) = compare(&checker, || program.run()) else {
            continue;
        };
        compared += 1;
        total
            .iter_mut()
            .zip(found)
            .for_each(|(total, found)| *total += found);
    }
    println!("{compared} programs, classes by bound: {total:?}");
}

#[test]
fn random_objects() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 300);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let mut compared = 0;
    let mut total = [0; 5];
    while compared < programs {
        let program = random_objects::Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let Some(found) = compare(&Checker::new(), || program.run()) else {
            continue;
        };
        compared += 1;
        total
            .iter_mut()
            .zip(found)
            .for_each(|(total, found)| *total += found);
    }
    println!("{compared} programs, classes by bound: {total:?}");
}
