//! Races as raddle finds them, against the definition: random programs whose accesses of a cell race
//! in exactly those classes in which the axioms say so.
//!
//! `RADDLE_TEST_PROGRAMS=20000 cargo test --release -p raddle-tests --test race_axioms` compares more
//! than the usual number; `RADDLE_TEST_SEED` starts elsewhere.

use fastrand::Rng;
use raddle::Strategy;
use raddle_tests::axiomatic::races::{expected, observed, with_cell};
use raddle_tests::axiomatic::{Model, is_small, random};
use raddle_tests::compare::{ShownOnPanic, setting};

#[test]
fn random_programs_race_in_the_classes_in_which_the_axioms_say_so() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 1_000);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 11));
    let (mut compared, mut all, mut none, mut some, mut classes) = (0, 0, 0, 0, 0);
    while compared < programs {
        let litmus = with_cell(&random::random(&mut rng), &mut rng);
        if !is_small(&litmus, 3_000) {
            continue;
        }
        let _shown = ShownOnPanic(&litmus);
        for model in [Model::Sc, Model::Rc11] {
            let expected = expected(&litmus, model);
            let found = observed(&litmus, model, Strategy::Exhaustive).expect("it ends");
            assert!(expected == found, "{model:?}\n{litmus}");
            if compared % 10 == 0
                && let Some(found) = observed(&litmus, model, Strategy::EnumeratePrivateFirst)
            {
                assert!(expected == found, "all schedules, {model:?}\n{litmus}");
            }
            let racy = expected.values().filter(|&&racy| racy).count();
            all += u64::from(racy == expected.len());
            none += u64::from(racy == 0);
            some += u64::from(racy > 0 && racy < expected.len());
            classes += expected.len();
        }
        compared += 1;
    }
    println!(
        "{compared} programs, {classes} classes; racy in all {all}, in none {none}, in some {some}"
    );
    assert!(
        some * 20 > compared,
        "in some classes only, which is where it is hard: {some}"
    );
}
