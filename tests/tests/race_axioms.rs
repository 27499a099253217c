//! Races as raddle finds them, against the definition: random programs whose accesses of a cell race
//! in exactly those classes in which the axioms say so.

use fastrand::Rng;
use raddle::Strategy;
use raddle_tests::axiomatic::races::{expected, observed, with_cell};
use raddle_tests::axiomatic::{Model, is_small, random};
use raddle_tests::suite::{Suite, Verdict};

#[test]
fn random_programs_race_in_the_classes_in_which_the_axioms_say_so() {
    let draw = |rng: &mut Rng| with_cell(&random::random(rng), rng);
    let (mut all, mut none, mut some, mut classes) = (0, 0, 0, 0);
    let compared = Suite::new(200, 11).run(draw, |litmus, rng| {
        if !is_small(litmus, 3_000) {
            return Verdict::Skipped;
        }
        for model in [Model::Sc, Model::Rc11, Model::Rc11Paper] {
            let expected = expected(litmus, model);
            let found = observed(litmus, model, Strategy::Exhaustive).expect("it ends");
            assert!(expected == found, "{model:?}\n{litmus}");
            if rng.u32(..10) == 0
                && let Some(found) = observed(litmus, model, Strategy::EnumeratePrivateFirst)
            {
                assert!(expected == found, "all schedules, {model:?}\n{litmus}");
            }
            let racy = expected.values().filter(|&&racy| racy).count();
            all += u64::from(racy == expected.len());
            none += u64::from(racy == 0);
            some += u64::from(racy > 0 && racy < expected.len());
            classes += expected.len();
        }
        Verdict::Agreed
    });
    println!("{classes} classes; racy in all {all}, in none {none}, in some {some}");
    let few = compared < 100;
    assert!(
        few || some * 20 > compared,
        "in some classes only, which is where it is hard: {some}"
    );
}
