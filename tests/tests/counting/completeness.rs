//! Checking the search itself: `verify_completeness`.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Completeness, Guarantee, Memory, Reduction, Strategy};
use raddle_tests::programs::{dining, mutex_counter, racy_counter};

fn verified(
    checker: Checker,
    program: impl Fn() + Send + Sync,
) -> (Completeness, Guarantee, String) {
    let report = checker.verify_completeness(true).run(program);
    let text = report.to_string();
    let completeness = report.completeness.clone().expect("it was asked for");
    (completeness, report.guarantee(), text)
}

fn two_increments() {
    racy_counter(2, 1);
}

/// Main begins, makes two threads and waits for each: after the first is made, the rest of main and
/// the two threads with four steps each run in any order that their waiting allows.
#[test]
fn all_schedules_of_a_small_test_are_run() {
    let (completeness, guarantee, text) = verified(Checker::new(), two_increments);
    let all = Checker::new()
        .strategy(Strategy::Enumerate)
        .run(two_increments);
    let schedules = all.executions;
    assert_eq!(completeness, Completeness::Verified { schedules });
    assert_eq!(guarantee, Guarantee::Exhaustive);
    assert!(
        text.starts_with("every behaviour was run: 4 classes"),
        "{text}"
    );
    let end = format!("); completeness verified: {schedules} schedules, no other class");
    assert!(text.ends_with(&end), "{text}");
}

#[test]
fn a_test_without_choices_has_one_schedule() {
    let (completeness, _, text) = verified(Checker::new(), || {
        AtomicU32::new(0).store(1, SeqCst);
    });
    assert_eq!(completeness, Completeness::Verified { schedules: 1 });
    assert!(
        text.ends_with("; completeness verified: 1 schedule, no other class"),
        "{text}"
    );
}

#[test]
fn within_a_bound_only_its_schedules_are_run() {
    let schedules = |most: u32| {
        let checker = Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(Memory::Sc)
            .preemptions(most);
        let (completeness, guarantee, _) = verified(checker, two_increments);
        let Completeness::Verified { schedules } = completeness else {
            panic!("{completeness:?}");
        };
        (schedules, guarantee)
    };
    let (none, guarantee) = schedules(0);
    assert_eq!(guarantee, Guarantee::Bounded { preemptions: 0 });
    let (one, guarantee) = schedules(1);
    assert_eq!(guarantee, Guarantee::Exhaustive, "no class costs more");
    assert!(none < one, "{none} and {one}");
}

#[test]
fn failures_are_no_difference() {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true);
    let report = checker
        .verify_completeness(true)
        .run(|| assert_eq!(racy_counter(2, 1), 2));
    assert_eq!(report.failures.len(), 1);
    assert!(
        matches!(report.completeness, Some(Completeness::Verified { .. })),
        "{report}"
    );
}

#[test]
fn too_many_schedules_are_said_to_be_too_many() {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_executions(1_000);
    let (completeness, guarantee, text) = verified(checker, || dining(3));
    let Completeness::Unfinished { schedules, classes } = completeness else {
        panic!("{completeness:?}");
    };
    assert_eq!(schedules, 1_000);
    assert!((1..=30).contains(&classes), "{classes}");
    assert_eq!(guarantee, Guarantee::Exhaustive);
    let classes = match classes {
        1 => "1 class".to_owned(),
        more => format!("{more} classes"),
    };
    let end = format!(
        "; completeness not verified: there are more schedules than were run; 1000 schedules have \
         {classes}, and no other than the search has run"
    );
    assert!(text.ends_with(&end), "{text}");
}

#[test]
fn where_there_is_nothing_to_compare_it_says_why() {
    let why = |checker: Checker| match verified(checker, || mutex_counter(3, 1)).0 {
        Completeness::NotVerified { reason } => reason,
        other => panic!("{other:?}"),
    };
    let exhaustive = Checker::new().strategy(Strategy::Exhaustive);
    assert_eq!(
        why(exhaustive.clone().max_executions(2)),
        "the search did not come to its end"
    );
    assert_eq!(
        why(exhaustive.reduce(Reduction::Symmetry)),
        "a reduction leaves classes out"
    );
    assert_eq!(
        why(Checker::new().strategy(Strategy::Random).max_executions(2)),
        "the strategy does not run every class"
    );
}

#[raddle::test(verify_completeness = true, preemptions = 1, strategy = "exhaustive")]
fn the_attribute_knows_it_too() {
    racy_counter(2, 1);
}
