//! What the coroutines must not let through: identity by address, other checks, deep recursion,
//! programs that are not deterministic, and wrong use.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32 as StdAtomicU32, Ordering::Relaxed};

use raddle::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failure, FailureKind, Report, Strategy, thread};
use raddle_tests::parity::panics;
use raddle_tests::programs::{mutex_counter, racy_counter, run_threads};
use raddle_tests::{classes, exhaust};

fn only_failure(report: &Report) -> &Failure {
    assert_eq!(report.failures.len(), 1, "{report}");
    &report.failures[0]
}

#[test]
fn an_object_is_new_when_its_address_is_used_again() {
    // Each thread makes and drops a lock of its own, usually at the address of the last one. If
    // identity were the address, they would seem to be one lock that threads fight over.
    let count = classes(|| {
        run_threads(2, |_| {
            for _ in 0..3 {
                let lock = Box::new(Mutex::new(0));
                *lock.lock().unwrap() += 1;
            }
        });
    });
    assert_eq!(count, 1);
}

#[test]
fn an_object_is_the_same_when_it_moves() {
    let count = classes(|| {
        let value = AtomicU32::new(1);
        value.store(2, SeqCst);
        let moved = Arc::new(value);
        let shared = Arc::clone(&moved);
        let thread = thread::spawn(move || shared.fetch_add(1, SeqCst));
        let before = moved.fetch_add(10, SeqCst);
        let other = thread.join().unwrap();
        assert!((before, other) == (2, 12) || (before, other) == (3, 2));
        assert_eq!(Arc::into_inner(moved).unwrap().into_inner(), 13);
    });
    assert_eq!(count, 2);
}

#[test]
fn an_owner_sees_and_changes_the_value_of_the_execution() {
    classes(|| {
        let mut value = AtomicU32::new(1);
        value.store(5, SeqCst);
        assert_eq!(*value.get_mut(), 5);
        *value.get_mut() += 1;
        assert_eq!(value.load(SeqCst), 6);
        let mut lock = Mutex::new(vec![1]);
        lock.lock().unwrap().push(2);
        lock.get_mut().unwrap().push(3);
        assert_eq!(lock.into_inner().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn what_outlives_an_execution_starts_again_with_its_first_value() {
    let shared = Arc::new(AtomicU32::new(7));
    let inside = Arc::clone(&shared);
    let report = exhaust(move || {
        let other = Arc::clone(&inside);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        inside.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(inside.load(SeqCst), 9);
    });
    report.assert_ok();
    assert_eq!(report.classes(), 2);
    assert_eq!(shared.load(SeqCst), 7, "and outside it was never touched");
}

#[test]
fn checks_run_side_by_side_in_one_process() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(classes(|| mutex_counter(3, 1)), 6);
                    let racy = classes(|| {
                        racy_counter(2, 2);
                    });
                    assert_eq!(racy, 34);
                }
            });
        }
    });
}

#[test]
fn checks_side_by_side_may_share_a_static_atomic() {
    static SHARED: AtomicU32 = AtomicU32::new(5);
    // Three increments of two steps by three threads have 36 classes, main's load included.
    let program = || {
        run_threads(3, |_| SHARED.store(SHARED.load(SeqCst) + 1, SeqCst));
        assert!((6..=8).contains(&SHARED.load(SeqCst)));
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(classes(program), 36);
                }
            });
        }
    });
    assert_eq!(SHARED.load(SeqCst), 5);
}

#[test]
fn a_stack_overflow_is_a_failure_and_not_the_end_of_the_process() {
    #[allow(unconditional_recursion)]
    fn recurse(depth: &Cell<u64>) -> u64 {
        let frame = [depth.get(); 64];
        depth.set(depth.get() ^ std::hint::black_box(&frame)[3]);
        recurse(depth) ^ frame[7]
    }
    for _ in 0..3 {
        let report = Checker::new().run(|| {
            let lock = Arc::new(Mutex::new(()));
            let other = Arc::clone(&lock);
            let thread = thread::Builder::new().name("deep".into()).spawn(move || {
                let _held = other.lock();
                recurse(&Cell::new(1))
            });
            thread.unwrap().join().unwrap();
        });
        let failure = only_failure(&report);
        assert_eq!(failure.kind, FailureKind::Limit);
        assert_eq!(
            failure.message,
            "thread deep used more stack than it has\nhelp: give threads more with `stack_size`, \
             or look for a recursion without end"
        );
    }
}

#[test]
fn a_larger_stack_can_be_asked_for() {
    fn recurse(depth: u32) -> u32 {
        let frame = std::hint::black_box([depth; 256]);
        if depth == 0 {
            frame[1]
        } else {
            recurse(depth - 1) + frame[2] - depth
        }
    }
    let body = || assert_eq!(recurse(1_000), 0);
    assert_eq!(
        only_failure(&Checker::new().run(body)).kind,
        FailureKind::Limit
    );
    Checker::new().stack_size(8 << 20).run(body).assert_ok();
}

#[test]
fn an_execution_without_end_meets_the_limit() {
    let report = Checker::new().max_events(500).run(|| {
        let flag = AtomicU32::new(0);
        while flag.fetch_add(1, SeqCst) < u32::MAX {}
    });
    let failure = only_failure(&report);
    assert_eq!(failure.kind, FailureKind::TooLong);
    let lines: Vec<&str> = failure.message.lines().collect();
    assert_eq!(lines[0], "one execution has more than 500 events");
    assert!(
        lines[1].starts_with("main repeats: fetch-add flag at "),
        "{failure}"
    );
    assert_eq!(failure.schedule.steps.len(), 500);
}

#[test]
fn a_program_that_is_not_deterministic_is_found_out() {
    let runs = StdAtomicU32::new(0);
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        if runs.fetch_add(1, Relaxed) == 0 {
            value.load(SeqCst);
        } else {
            value.store(2, SeqCst);
        }
        thread.join().unwrap();
    });
    let failure = only_failure(&report);
    assert_eq!(failure.kind, FailureKind::Nondeterminism);
    let first = failure.message.lines().next().unwrap();
    assert_eq!(
        first,
        "after 4 events, main does something else than in an earlier run"
    );
}

#[test]
fn a_program_may_store_something_else_each_time() {
    let runs = StdAtomicU32::new(0);
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let mine = runs.fetch_add(1, Relaxed);
        let thread = thread::spawn(move || other.load(SeqCst));
        value.store(mine, SeqCst);
        thread.join().unwrap();
    });
    report.assert_ok();
    assert_eq!(report.classes(), 2);
}

#[test]
fn a_check_inside_a_check_is_refused() {
    let report = Checker::new().run(|| raddle::check(|| {}));
    let failure = only_failure(&report);
    assert_eq!(failure.kind, FailureKind::Panic);
    let (_, said) = failure.message.split_once('\n').unwrap();
    assert_eq!(
        said,
        "raddle: a check was started inside a check; what runs inside one is controlled already, so \
         call the code to be tested directly"
    );
}

#[test]
fn a_lock_shared_with_a_thread_that_is_not_controlled_is_found_out() {
    let lock = Arc::new(Mutex::new(0));
    let guard = lock.lock().unwrap();
    let inside = Arc::clone(&lock);
    let report = Checker::new().run(move || *inside.lock().unwrap() += 1);
    drop(guard);
    let failure = only_failure(&report);
    assert!(
        failure.message.contains("is held outside this execution"),
        "{failure}"
    );
}

#[test]
fn choices_outside_a_check_are_refused() {
    let message = panics(|| assert!(raddle::choose(0..2) < 2));
    assert_eq!(message, "raddle::choose is called outside a check");
    let report = Checker::new().run(|| assert_eq!(raddle::choose(3..3), 3));
    assert!(
        only_failure(&report)
            .message
            .contains("0 values to choose from")
    );
}

#[test]
fn a_handle_that_leaves_its_execution_is_refused() {
    let escaped = std::sync::Mutex::new(None);
    Checker::new()
        .run(|| *escaped.lock().unwrap() = Some(thread::spawn(|| ())))
        .assert_ok();
    let handle = escaped.into_inner().unwrap().unwrap();
    assert_eq!(
        panics(|| drop(handle.join())),
        "raddle: the handle of a modelled thread is used outside its execution"
    );
}

#[test]
fn the_same_seed_gives_the_same_random_schedules() {
    let fingerprints = |seed| {
        let mut seen = Vec::new();
        let checker = Checker::new()
            .strategy(Strategy::Random)
            .seed(seed)
            .max_executions(200);
        raddle::__private::run_observed(
            checker,
            || {
                racy_counter(3, 2);
            },
            &mut |execution| seen.push(execution.fingerprint()),
        );
        seen
    };
    assert_eq!(fingerprints(1), fingerprints(1));
    assert_ne!(fingerprints(1), fingerprints(2));
}

#[test]
fn random_runs_count_their_classes() {
    let report = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(5_000)
        .run(|| {
            racy_counter(2, 2);
        });
    assert_eq!(report.classes(), 34);
    assert!(!report.exhausted, "a random search never knows");
}

#[test]
fn auto_is_exhaustive_when_the_budget_allows() {
    let report = Checker::new().run(|| {
        racy_counter(3, 1);
    });
    assert!(report.exhausted);
    assert_eq!((report.classes(), report.executions), (36, 36));
    let report = Checker::new().max_executions(20).run(|| {
        racy_counter(3, 1);
    });
    assert!(!report.exhausted);
    // Runs of a class that was known count, too.
    assert_eq!(report.runs(), 20);
    assert_eq!(report.executions, report.classes());
    assert!((10..=20).contains(&report.classes()));
}

#[test]
fn three_hundred_threads_are_no_problem() {
    let report = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(20)
        .run(|| {
            let counter = Arc::new(AtomicUsize::new(0));
            let shared = Arc::clone(&counter);
            run_threads(300, move |_| {
                shared.fetch_add(1, SeqCst);
            });
            assert_eq!(counter.load(SeqCst), 300);
        });
    report.assert_ok();
}

/// Once stood for the unknown value of a store in the engine.
const ONCE_A_SENTINEL: u64 = u64::from_be_bytes(*b"unsettle");

#[test]
fn no_value_of_the_program_hides_that_it_is_not_deterministic() {
    for first in [7, ONCE_A_SENTINEL] {
        let runs = StdAtomicU32::new(0);
        let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
            let initial = match runs.fetch_add(1, Relaxed) {
                0 => first,
                _ => 8,
            };
            let value = Arc::new(AtomicU64::new(initial));
            let other = Arc::clone(&value);
            let thread = thread::spawn(move || other.load(SeqCst));
            let _ = value.compare_exchange(first, 1, SeqCst, SeqCst);
            thread.join().unwrap();
        });
        let failure = only_failure(&report);
        assert_eq!(failure.kind, FailureKind::Nondeterminism, "{first:#x}");
    }
}

#[test]
fn every_value_of_the_program_has_the_same_classes() {
    let count = |stored: u64| {
        classes(move || {
            // Neither a stored value nor its successor.
            let value = Arc::new(AtomicU64::new(3));
            let other = Arc::clone(&value);
            let thread = thread::spawn(move || {
                other.store(stored, SeqCst);
                other.fetch_add(1, SeqCst);
            });
            let mut seen = value.load(SeqCst);
            while seen != 5 {
                match value.compare_exchange(seen, 5, SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(found) => seen = found,
                }
            }
            thread.join().unwrap();
        })
    };
    let expected = count(1000);
    for stored in [ONCE_A_SENTINEL, u64::MAX, u64::MAX - 1] {
        assert_eq!(count(stored), expected, "{stored:#x}");
    }
}
