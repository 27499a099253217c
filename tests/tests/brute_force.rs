//! The exhaustive search against plain enumeration of all schedules, on random programs: the same
//! classes, none twice, no run in vain.
//!
//! `RADDLE_TEST_PROGRAMS=100000 cargo test --release -p raddle-tests --test brute_force` compares
//! more than the usual number; `RADDLE_TEST_SEED` starts elsewhere.

use std::collections::{HashMap, HashSet};

use fastrand::Rng;
use raddle::Strategy;
use raddle_engine::ClassEntry;
use raddle_tests::random_program::Program;

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 20_000;

type Classes = HashSet<Vec<ClassEntry>>;

/// Every class of the program by running all its schedules; `None` if there are too many.
fn enumerate(program: &Program, strategy: Strategy) -> Option<Classes> {
    let mut classes = HashMap::new();
    let checker = program.checker(strategy).max_executions(MAX_SCHEDULES);
    let report = raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
        classes
            .entry(execution.fingerprint())
            .or_insert_with(|| execution.class());
    });
    report.exhausted.then(|| {
        let count = classes.len();
        let classes: Classes = classes.into_values().collect();
        assert_eq!(classes.len(), count, "two fingerprints for one class");
        classes
    })
}

/// Every class of the program as the search finds them.
fn search(program: &Program) -> Classes {
    let mut classes = Classes::new();
    let checker = program.checker(Strategy::Exhaustive);
    let report = raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
        assert!(
            classes.insert(execution.class()),
            "a class was run twice\n{program:?}"
        );
    });
    assert!(report.exhausted, "{program:?}");
    assert_eq!(
        report.executions,
        classes.len() as u64,
        "a run was in vain\n{program:?}"
    );
    classes
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(default, |text| text.parse().expect(name))
}

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 2_500);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let (mut compared, mut waiting, mut total, mut largest) = (0, 0, 0, 0);
    let mut by_threads = HashMap::<usize, u64>::new();
    while compared < programs {
        let program = Program::random(&mut rng);
        let Some(expected) = enumerate(&program, Strategy::EnumeratePrivateFirst) else {
            continue;
        };
        let found = search(&program);
        assert_eq!(
            found.len(),
            expected.len(),
            "missing {:#?}\ninvented {:#?}\n{program:?}",
            expected.difference(&found).next(),
            found.difference(&expected).next()
        );
        assert!(found == expected, "{program:?}");
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
fn the_order_in_which_threads_are_created_never_changes_a_count() {
    let mut rng = Rng::with_seed(7);
    let mut compared = 0;
    while compared < 300 {
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
    while compared < 200 {
        let program = Program::random(&mut rng);
        let Some(all) = enumerate(&program, Strategy::Enumerate) else {
            continue;
        };
        let reduced = enumerate(&program, Strategy::EnumeratePrivateFirst);
        assert!(reduced == Some(all), "{program:?}");
        compared += 1;
    }
}
