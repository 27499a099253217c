//! What receives could have seen, on random programs: everything that some schedule shows is offered,
//! and nothing else.
//!
//! `RADDLE_TEST_PROGRAMS` and `RADDLE_TEST_SEED` do what they do in `brute_force.rs`.

use fastrand::Rng;
use raddle::{Checker, Memory, Strategy};
use raddle_tests::compare::{ShownOnPanic, setting};
use raddle_tests::futures::{Counts, compared};
use raddle_tests::{random_objects, random_program};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 5_000;

fn add(sum: &mut Counts, counts: Counts) {
    sum.classes += counts.classes;
    sum.receives += counts.receives;
    sum.alternatives += counts.alternatives;
}

#[test]
fn what_is_offered_is_what_happens() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 400);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let (mut done, mut sum) = (0, Counts::default());
    while done < programs {
        let program = random_program::Program::random(&mut rng);
        // What does not count cannot show what is possible.
        if format!("{program:?}").contains("Assume") {
            continue;
        }
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Auto);
        let Some(counts) = compared(&checker, program.memory, MAX_SCHEDULES, || program.run())
        else {
            continue;
        };
        add(&mut sum, counts);
        done += 1;
    }
    println!("{done} programs, {sum:?}");
    assert!(sum.alternatives > sum.receives, "somebody has a choice");
}

#[test]
fn what_is_offered_is_what_happens_to_the_rarer_primitives() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 200);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 2));
    let (mut done, mut sum) = (0, Counts::default());
    while done < programs {
        let program = random_objects::Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let counts = compared(&Checker::new(), Memory::Sc, MAX_SCHEDULES, || program.run());
        let Some(counts) = counts else { continue };
        add(&mut sum, counts);
        done += 1;
    }
    println!("{done} programs, {sum:?}");
    assert!(sum.alternatives > sum.receives, "somebody has a choice");
}
