//! Marked states: the executions that reach them, and what a check claims of those that none has reached.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::Relaxed};
use raddle::{Checker, FailureKind, Guarantee, Report, Strategy, assume, choose, thread};

/// Name, executions that came, executions in which it held.
fn counts(report: &Report) -> Vec<(&str, u64, u64)> {
    let states = report.reached().states.iter();
    states
        .map(|state| (&*state.name, state.came, state.held))
        .collect()
}

fn store_buffering() {
    let cells = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let other = Arc::clone(&cells);
    let thread = thread::spawn(move || {
        other.0.store(1, Relaxed);
        other.1.load(Relaxed)
    });
    cells.1.store(1, Relaxed);
    let both = (cells.0.load(Relaxed), thread.join().unwrap());
    raddle::sometimes!(both == (0, 0), "both stale");
    raddle::sometimes!(both.0 == 2);
    if both == (1, 1) {
        raddle::reachable!("both new");
    }
}

#[test]
fn executions_that_reach_a_state_are_counted() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .run(store_buffering);
    assert_eq!(report.classes(), 4, "one for each pair of values");
    let expected = [
        ("both stale", 4, 1),
        ("both.0 == 2", 4, 0),
        ("both new", 1, 1),
    ];
    assert_eq!(counts(&report), expected);
    assert_eq!(report.reached().executions, 4);
}

#[test]
fn an_execution_counts_once_however_often_it_comes() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let last = choose(0..3);
        for round in 0..5 {
            raddle::sometimes!(round >= 3 && last == 2, "late");
        }
    });
    assert_eq!(counts(&report), [("late", 3, 1)]);
}

#[test]
fn marks_change_no_class() {
    let plain = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || other.fetch_add(1, Relaxed));
        value.fetch_add(1, Relaxed);
        thread.join().unwrap();
    };
    let marked = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || {
            let before = other.fetch_add(1, Relaxed);
            raddle::sometimes!(before == 1, "second");
        });
        raddle::reachable!("between");
        value.fetch_add(1, Relaxed);
        thread.join().unwrap();
    };
    let search = || Checker::new().strategy(Strategy::Exhaustive);
    let (without, with) = (search().run(plain), search().run(marked));
    assert_eq!(without.classes(), with.classes());
    assert_eq!(counts(&with), [("second", 2, 1), ("between", 2, 2)]);
}

#[test]
fn discarded_executions_do_not_count() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let value = choose(0..4);
        raddle::sometimes!(value == 3, "three");
        assume(value < 3);
    });
    assert_eq!((report.executions, report.discarded), (3, 1));
    assert_eq!(counts(&report), [("three", 3, 0)]);
    let text = report.reached().missed().map(|state| state.name.clone());
    assert_eq!(text.collect::<Vec<_>>(), ["three"]);
}

#[test]
fn several_workers_count_what_one_counts() {
    let program = || {
        let value = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let value = Arc::clone(&value);
                thread::spawn(move || {
                    let before = value.load(Relaxed);
                    value.store(before + 1, Relaxed);
                })
            })
            .collect();
        threads.into_iter().for_each(|it| it.join().unwrap());
        let end = value.load(Relaxed);
        raddle::sometimes!(end == 1, "two lost");
        raddle::sometimes!(end == 4, "four");
    };
    let search = |workers| {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        checker.workers(workers).run(program)
    };
    let (one, three) = (search(1), search(3));
    assert_eq!(one.reached(), three.reached());
    let [lost, four] = &counts(&one)[..] else {
        panic!("two states: {:?}", one.reached())
    };
    assert!(lost.2 > 0 && lost.2 < one.executions && four.2 == 0);
}

fn required(names: &str, strategy: Strategy, executions: u64) -> Report {
    Checker::new()
        .strategy(strategy)
        .max_executions(executions)
        .require_reached(names)
        .run(store_buffering)
}

#[test]
fn a_required_state_that_is_not_reached_is_a_failure() {
    let report = required("both stale, both new", Strategy::Exhaustive, 100);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.guarantee(), Guarantee::Exhaustive);

    let report = required("both stale, both.0 == 2", Strategy::Exhaustive, 100);
    let [failure] = &report.failures[..] else {
        panic!("one failure: {:?}", report.failures)
    };
    assert_eq!(failure.kind, FailureKind::Requirement);
    let message = &failure.message;
    assert!(
        message.starts_with(
            "`both.0 == 2` must be reached, and was in no behaviour: its condition was false whenever a thread came to tests"
        ),
        "{message}"
    );
}

#[test]
fn a_name_without_a_state_is_not_reached() {
    let report = required("both old", Strategy::Exhaustive, 100);
    let message = &report.failures[0].message;
    let expected = "`both old` must be reached, and was in no behaviour: no execution came to a state of this name; \
                    those with a place that one came to: `both new`, `both stale`, `both.0 == 2`\n";
    assert!(message.starts_with(expected), "{message}");
}

/// A sample says nothing about other behaviours.
#[test]
fn a_sample_does_not_claim_that_a_state_is_impossible() {
    let report = required("both.0 == 2", Strategy::Random, 20);
    let message = &report.failures[0].message;
    assert!(
        message.starts_with("`both.0 == 2` must be reached, and was in none of 20 executions: "),
        "{message}"
    );
    let report = required("both.0 == 2", Strategy::Random, 1);
    let message = &report.failures[0].message;
    assert!(
        message.starts_with("`both.0 == 2` must be reached, and was not in the one execution: "),
        "{message}"
    );
}

#[test]
fn another_failure_is_reported_alone() {
    let report = Checker::new().require_reached("never").run(|| {
        assert_ne!(choose(0..3), 1);
    });
    let kinds: Vec<_> = report.failures.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FailureKind::Panic]);
}

#[test]
fn outside_a_check_conditions_are_not_evaluated() {
    let evaluated = || -> bool { panic!("it is evaluated") };
    raddle::reachable!("here");
    raddle::sometimes!(evaluated(), "never");
}

#[raddle::test(require_reached = "both stale, both new")]
fn the_attribute_requires_states() {
    store_buffering();
}
