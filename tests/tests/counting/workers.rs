//! Several workers find what one finds.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU32 as StdAtomicU32, Ordering::Relaxed};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, OnceLock, Semaphore};
use raddle::{Checker, FailureKind, Guarantee, Report, Strategy, thread};
use raddle_tests::programs::{philosophers, racy_counter, run_threads};
use raddle_tests::published::PROGRAMS;

/// The classes of a program, and the report.
fn search(workers: usize, program: impl Fn() + Send + Sync) -> (HashSet<u64>, Report) {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .workers(workers)
        .keep_going(true)
        .shorten(false);
    let mut classes = HashSet::new();
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        assert!(
            classes.insert(execution.fingerprint()),
            "a class was run twice"
        );
    });
    assert!(report.exhausted, "{report}");
    assert_eq!(report.executions, classes.len() as u64);
    assert_eq!(report.classes(), report.executions);
    (classes, report)
}

fn gists(report: &Report) -> BTreeSet<String> {
    let failures = report.failures.iter();
    failures
        .map(|failure| format!("{:?}", failure.gist()))
        .collect()
}

#[test]
fn every_published_program_has_the_same_classes_with_one_two_and_four_workers() {
    for (name, published, program) in PROGRAMS {
        let (one, alone) = search(1, program);
        assert_eq!(one.len() as u64, published, "{name}");
        for workers in [2, 4] {
            let (several, report) = search(workers, program);
            assert!(one == several, "{name} with {workers} workers");
            assert_eq!(gists(&alone), gists(&report), "{name}");
        }
    }
}

fn exhaustive(workers: usize) -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .workers(workers)
}

#[test]
fn there_may_be_more_workers_than_classes() {
    let report = exhaustive(8).run(|| {
        raddle::choose(0..2);
    });
    assert_eq!((report.exhausted, report.classes()), (true, 2));
    let report = exhaustive(8).run(|| ());
    assert_eq!(report.classes(), 1);
    assert!(
        report.to_string().starts_with("nothing to explore"),
        "{report}"
    );
}

#[test]
fn what_is_discarded_is_counted_once() {
    let report = exhaustive(3).run(|| {
        let first = raddle::choose(0..20);
        raddle::assume(first % 2 == 0);
        raddle::choose(0..5);
    });
    report.assert_ok();
    assert_eq!((report.classes(), report.discarded), (50, 10));
}

#[test]
fn the_budget_is_that_of_all_together() {
    for workers in [1, 2, 4] {
        let report = exhaustive(workers).max_executions(500).run(|| {
            racy_counter(3, 2);
        });
        assert_eq!(
            (report.executions, report.exhausted),
            (500, false),
            "{workers}"
        );
        assert_eq!(report.classes(), 500);
    }
}

#[test]
fn one_failure_stops_all() {
    for workers in [1, 2, 4] {
        let report = exhaustive(workers).run(|| philosophers(9));
        let [failure] = &report.failures[..] else {
            panic!("{report}");
        };
        assert_eq!(failure.kind, FailureKind::Deadlock);
        let again = Checker::new()
            .strategy(Strategy::Replay(failure.schedule.clone()))
            .run(|| philosophers(9));
        assert_eq!(again.failures[0].gist(), failure.gist());
    }
}

#[test]
fn each_worker_draws_its_own_schedules_at_random() {
    let run = |workers| {
        let checker = Checker::new()
            .strategy(Strategy::Random)
            .max_executions(3_000);
        let mut classes = HashSet::new();
        let report = raddle::__private::run_observed(
            checker.workers(workers),
            || {
                racy_counter(3, 2);
            },
            &mut |execution| {
                classes.insert(execution.fingerprint());
            },
        );
        assert_eq!(report.executions, 3_000);
        assert_eq!(report.classes(), classes.len() as u64, "the union");
        assert_eq!(report.guarantee(), Guarantee::Sampled);
        classes
    };
    let (one, three) = (run(1), run(3));
    assert!(three == run(3), "the same seed, the same schedules");
    assert!(one != three);
    // Workers that drew the same would see a third of that.
    assert!(
        three.len() * 10 > one.len() * 8,
        "{} and {}",
        one.len(),
        three.len()
    );
}

#[test]
fn auto_goes_on_at_random_with_all_workers() {
    let report = Checker::new().workers(3).max_executions(2_000).run(|| {
        racy_counter(3, 2);
    });
    report.assert_ok();
    assert!(report.runs() <= 2_000, "{report}");
    // The rest is for runs of known classes and of an estimate. Workers that drew the same would see a
    // third of 2,000 at most.
    assert!(report.classes() > 2_000 / 3, "{report}");
    let report = Checker::new().workers(3).run(|| {
        racy_counter(2, 2);
    });
    assert_eq!(
        (report.guarantee(), report.classes()),
        (Guarantee::Exhaustive, 34)
    );
}

static COUNT: AtomicU32 = AtomicU32::new(0);
static WORDS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static ONCE: OnceLock<u32> = OnceLock::new();

/// Every execution starts with statics in their initial state.
fn uses_statics() {
    assert_eq!(COUNT.load(SeqCst), 0);
    assert!(WORDS.lock().unwrap().is_empty());
    assert_eq!(ONCE.get(), None);
    run_threads(3, |number| {
        COUNT.fetch_add(1, SeqCst);
        WORDS.lock().unwrap().push(number as u32);
    });
    ONCE.get_or_init(|| COUNT.load(SeqCst));
    assert_eq!(ONCE.get(), Some(&3));
    assert_eq!(WORDS.lock().unwrap().len(), 3);
}

#[test]
fn statics_belong_to_one_execution_of_one_worker() {
    let (one, _) = search(1, uses_statics);
    let (four, report) = search(4, uses_statics);
    assert!(one == four);
    report.assert_ok();
}

#[test]
fn captured_values_without_data_belong_to_one_execution_too() {
    let (count, permits) = (AtomicU32::new(7), Semaphore::new(1));
    let turn = Condvar::new();
    let program = || {
        assert_eq!(count.load(SeqCst), 7);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    permits.acquire();
                    count.fetch_add(1, SeqCst);
                    permits.release();
                    turn.notify_one();
                });
            }
        });
        assert_eq!(count.load(SeqCst), 9);
        assert!(permits.try_acquire());
    };
    let (one, _) = search(1, program);
    for _ in 0..20 {
        let (four, report) = search(4, program);
        assert!(one == four);
        report.assert_ok();
    }
    assert_eq!(count.load(SeqCst), 7, "outside, nothing has happened");
}

#[test]
fn nondeterminism_is_reported_by_whoever_meets_it() {
    for workers in [2, 4] {
        let runs = StdAtomicU32::new(0);
        let report = exhaustive(workers).keep_going(true).run(|| {
            let value = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&value);
            let thread = thread::spawn(move || {
                for number in 0..4 {
                    other.store(number, SeqCst);
                }
            });
            if runs.fetch_add(1, Relaxed) >= 20 {
                value.store(9, SeqCst);
            }
            for _ in 0..4 {
                value.load(SeqCst);
            }
            thread.join().unwrap();
        });
        let [failure] = &report.failures[..] else {
            panic!("{report}");
        };
        assert_eq!(failure.kind, FailureKind::Nondeterminism);
        assert!(failure.message.contains("\nthen: "), "{failure}");
        assert!(failure.message.contains("\nnow: "), "{failure}");
        assert!(!report.exhausted);
    }
}

#[test]
fn workers_survive_panics_and_stack_overflow() {
    fn deep(depth: u64) -> u64 {
        let room = std::hint::black_box([depth; 64]);
        match room[1] {
            u64::MAX => 0,
            _ => 1 + deep(depth + 1) + room[0],
        }
    }
    let report = exhaustive(4).keep_going(true).shorten(false).run(|| {
        let chosen = raddle::choose(0..64);
        let thread = thread::spawn(move || match chosen % 3 {
            0 => panic!("panic {}", chosen % 2),
            1 => drop(std::hint::black_box(deep(0))),
            _ => {}
        });
        thread.join().unwrap();
    });
    let kinds: BTreeSet<String> = report
        .failures
        .iter()
        .map(|it| it.kind.to_string())
        .collect();
    assert_eq!(
        kinds,
        BTreeSet::from(["limit exceeded".to_owned(), "panic".to_owned()])
    );
    assert_eq!(report.executions, 64);
}

#[test]
fn a_captured_lock_is_used_by_one_worker_at_a_time() {
    for _ in 0..20 {
        let count = Mutex::new(0_u32);
        let report = exhaustive(4).keep_going(true).shorten(false).run(|| {
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| *count.lock().unwrap() += 1);
                }
            });
        });
        for failure in &report.failures {
            let message = &failure.message;
            assert!(message.contains("another worker of the check"), "{failure}");
        }
    }
}
