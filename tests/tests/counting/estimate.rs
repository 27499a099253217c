//! How many classes there are, estimated, next to how many there are.

use std::collections::HashSet;
use std::time::Duration;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Checker, Estimate, FailureKind, Guarantee, Report, Strategy};
use raddle_tests::programs::{mutex_counter, philosophers, racy_counter, run_threads};
use raddle_tests::published::PROGRAMS;

fn checker() -> Checker {
    Checker::new().keep_going(true).shorten(false)
}

fn estimate(checker: Checker, program: impl Fn() + Send + Sync) -> Estimate {
    let report = checker.estimate(program);
    report.estimate().expect("it was asked for")
}

fn has(estimate: Estimate, classes: u64) -> bool {
    (estimate.low..=estimate.high).contains(&classes)
}

#[test]
fn the_number_of_classes_is_in_the_interval_nine_times_in_ten() {
    let (mut inside, mut all) = (0, 0);
    for seed in 0..2 {
        for (name, classes, program) in PROGRAMS {
            let estimate = estimate(checker().seed(seed), program);
            assert!(estimate.low <= estimate.classes && estimate.classes <= estimate.high);
            let width = estimate.high as f64 / estimate.low as f64;
            assert!(width < 20.0, "{name}: {estimate:?} says nothing");
            inside += usize::from(has(estimate, classes));
            all += 1;
        }
    }
    assert!(inside * 10 >= all * 9, "{inside} of {all}");
}

#[test]
fn estimates_are_right_on_average() {
    // Whether what is drawn stands for all does not depend on how well it is drawn.
    let seeds = 30;
    for (classes, program) in [
        (1_680, (|| mutex_counter(3, 3)) as fn()),
        (2_520, || mutex_counter(4, 2)),
        (2_047, || philosophers(11)),
    ] {
        let estimates = (0..seeds).map(|seed| {
            let few = checker().seed(seed).max_executions(600);
            estimate(few, program).classes as f64
        });
        let mean = estimates.sum::<f64>() / seeds as f64;
        let error = mean / f64::from(classes) - 1.0;
        assert!(error.abs() < 0.1, "{mean} instead of {classes}");
    }
}

#[test]
fn a_small_program_is_counted() {
    for threads in 1..=3 {
        let counted = estimate(checker(), move || mutex_counter(threads, 1));
        let classes = [1, 2, 6][threads - 1];
        assert_eq!(
            (counted.low, counted.classes, counted.high),
            (classes, classes, classes)
        );
    }
}

#[test]
fn what_is_assumed_away_is_no_class() {
    let counted = estimate(checker(), || {
        let number = raddle::choose(0..12);
        raddle::assume(number % 3 == 0);
        raddle::choose(0..2);
    });
    assert_eq!((counted.low, counted.high), (8, 8), "4 times 2");
}

#[test]
fn reductions_and_bounds_make_it_smaller() {
    let reduced = checker().reduce(raddle::Reduction::Symmetry);
    let monitor = || {
        let count = raddle::monitor::Monitor::new(raddle::monitor::Discipline::SignalContinue, 0);
        run_threads(4, move |_| *count.enter() += 1);
    };
    assert_eq!(estimate(checker(), monitor).classes, 24);
    assert_eq!(estimate(reduced, monitor).classes, 1);
    for preemptions in 0..3 {
        let bounded = || checker().preemptions(preemptions);
        let search = bounded().strategy(Strategy::Exhaustive);
        let classes = search.run(|| mutex_counter(3, 2)).classes();
        let estimate = estimate(bounded(), || mutex_counter(3, 2));
        assert!(
            has(estimate, classes),
            "{estimate:?}, and there are {classes}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_estimate() {
    let of = |seed| estimate(checker().seed(seed), || _ = racy_counter(3, 2));
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn what_goes_wrong_in_a_sample_goes_wrong() {
    let report = checker().estimate(|| philosophers(4));
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.estimate().unwrap().classes, 15);
    let lost = Checker::new().estimate(|| assert_eq!(racy_counter(2, 1), 2));
    assert_eq!(lost.failures[0].kind, FailureKind::Panic);
    // It stops there.
    assert_eq!(lost.estimate(), None);
}

/// A search with a time limit far away: it estimates, which must not change its result.
fn watched(program: impl Fn() + Send + Sync, workers: usize) -> (HashSet<u64>, Report) {
    let checker = checker()
        .strategy(Strategy::Exhaustive)
        .workers(workers)
        .max_time(Duration::from_secs(3_600));
    let mut classes = HashSet::new();
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        assert!(classes.insert(execution.fingerprint()), "run twice");
    });
    assert_eq!(report.executions, classes.len() as u64);
    (classes, report)
}

#[test]
fn a_search_that_estimates_finds_what_it_would_find_otherwise() {
    for (name, published, program) in PROGRAMS {
        if published > 20_000 {
            continue;
        }
        for workers in [1, 2] {
            let (classes, report) = watched(program, workers);
            assert_eq!(classes.len() as u64, published, "{name}");
            assert_eq!(report.guarantee(), Guarantee::Exhaustive);
            assert_eq!(report.estimate().is_some(), published > 1_000, "{name}");
        }
    }
}

#[test]
fn a_search_that_was_cut_short_says_of_how_many() {
    let (_, classes, program) = PROGRAMS[PROGRAMS.len() - 1];
    assert_eq!(classes, 61_716);
    let report = checker()
        .strategy(Strategy::Exhaustive)
        .max_executions(20_000)
        .run(program);
    // Runs for estimates count: one in ten for the first, and one in sixteen of all later ones.
    assert_eq!(report.runs(), 20_000);
    let run = report.classes();
    assert!(run < 20_000 && run > 20_000 * 8 / 10, "{run}");
    let estimate = report.estimate().unwrap();
    assert!(has(estimate, classes), "{estimate:?}");
    assert!(estimate.low > run && estimate.high < 4 * classes);
    let text = report.to_string();
    let start = format!("not every behaviour was run: {run} classes of about ");
    assert!(text.starts_with(&start), "{text}");
    let end =
        " in 20000 runs; stopped at 20000 runs: raise `max_executions` for more (exhaustive, ";
    assert!(text.contains(end), "{text}");
}

#[test]
fn updates_that_cannot_follow_each_other_are_no_classes() {
    let counted = estimate(checker(), || {
        let counter = AtomicUsize::new(0);
        run_threads(4, move |_| _ = counter.fetch_add(1, SeqCst));
    });
    assert!(has(counted, 24), "{counted:?}");
}
