//! `Barrier`: its classes counted on paper, who leads, deadlocks, and std's behaviour.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::programs::run_threads;
use raddle_tests::{classes, exhaust};

#[test]
fn the_order_in_which_a_group_comes_costs_nothing() {
    for threads in 1..=6 {
        let count = classes(move || {
            let barrier = Barrier::new(threads);
            run_threads(threads, move |_| {
                barrier.wait();
            });
        });
        assert_eq!(count, 1, "{threads} threads");
    }
}

#[test]
fn groups_are_choices() {
    // With groups of two: one of the pairs first, one of those that are left next, and so on.
    for (threads, size, expected) in [(2, 1, 2), (3, 2, 3), (4, 2, 6), (4, 3, 4), (6, 2, 15 * 6)] {
        let count = |strategy| {
            let report = Checker::new().strategy(strategy).keep_going(true).run(|| {
                let barrier = Barrier::new(size);
                run_threads(threads, move |_| {
                    barrier.wait();
                });
            });
            assert!(report.exhausted);
            report.classes()
        };
        assert_eq!(count(Strategy::Exhaustive), expected, "{threads}, {size}");
        if threads < 4 {
            assert_eq!(count(Strategy::Enumerate), expected, "{threads}, {size}");
        }
    }
}

#[test]
fn only_who_asks_is_told_apart() {
    // Each thread that asks may lead, or, unless all ask, one of the others.
    for (threads, asking, expected) in [(2, 1, 2), (2, 2, 2), (3, 1, 2), (3, 2, 3), (3, 3, 3)] {
        let answers = StdMutex::new(BTreeSet::new());
        let report = exhaust(|| {
            let barrier = Arc::new(Barrier::new(threads));
            let ask = |number| {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || {
                    let result = barrier.wait();
                    number < asking && result.is_leader()
                })
            };
            let all: Vec<_> = (0..threads).map(ask).collect();
            let leads: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
            answers.lock().unwrap().insert(leads);
        });
        assert_eq!(report.classes(), expected, "{asking} of {threads}");
        assert_eq!(answers.into_inner().unwrap().len() as u64, expected);
    }
}

#[test]
fn anybody_may_lead_and_one_does() {
    let leaders = StdMutex::new(BTreeSet::new());
    exhaust(|| {
        let barrier = Arc::new(Barrier::new(3));
        let wait = |_| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || barrier.wait().is_leader())
        };
        let threads: Vec<_> = (0..3).map(wait).collect();
        let leads = threads.into_iter().map(|thread| thread.join().unwrap());
        let leading: Vec<bool> = leads.collect();
        assert_eq!(leading.iter().filter(|&&leads| leads).count(), 1);
        leaders.lock().unwrap().insert(leading);
    })
    .assert_ok();
    assert_eq!(leaders.into_inner().unwrap().len(), 3);
}

#[test]
fn nobody_passes_before_all_have_come() {
    exhaust(|| {
        let shared = (Barrier::new(2), AtomicUsize::new(0));
        run_threads(2, move |_| {
            let (barrier, came) = &shared;
            came.fetch_add(1, SeqCst);
            barrier.wait();
            assert_eq!(came.load(SeqCst), 2);
        });
    })
    .assert_ok();
}

#[test]
fn it_can_be_used_again() {
    let count = classes(|| {
        let barrier = Barrier::new(2);
        run_threads(2, move |_| {
            barrier.wait();
            barrier.wait();
        });
    });
    assert_eq!(count, 1);
}

#[test]
fn a_group_that_is_never_complete_is_a_deadlock() {
    let report = exhaust(|| {
        let barrier = Barrier::new(3);
        run_threads(2, move |_| {
            barrier.wait();
        });
    });
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Deadlock);
    let lines: Vec<_> = failure.message.lines().collect();
    for (line, thread) in lines[1..].iter().zip(["main.1", "main.2"]) {
        assert!(
            line.starts_with(&format!("{thread} waits at tests/tests/types/barrier.rs:")),
            "{line}"
        );
        assert!(line.ends_with(" for Barrier `barrier`"), "{line}");
    }
    assert_eq!(
        report.classes(),
        1,
        "the order in which they came is nobody's concern"
    );
}

#[test]
fn more_threads_than_a_group_leave_one_behind() {
    let report = exhaust(|| {
        let barrier = Barrier::new(2);
        run_threads(3, move |_| {
            barrier.wait();
        });
    });
    assert_eq!(report.classes(), 3, "any of them is left");
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
}

/// What is done with the given module's barrier, as text.
macro_rules! alone {
    ($($sync:tt)*) => {
        [0, 1].map(|size| {
            let barrier = $($sync)*::Barrier::new(size);
            let results = (barrier.wait(), barrier.wait().is_leader());
            format!("{barrier:?} {results:?}")
        })
    };
}

#[test]
fn it_does_what_stds_does() {
    let compare = || assert_eq!(alone!(std::sync), alone!(raddle::sync));
    compare();
    assert_eq!(classes(compare), 1);
}

#[test]
fn real_threads_share_it_outside_a_check() {
    static BARRIER: Barrier = Barrier::new(4);
    let wait = || {
        let leads = (0..100).filter(|_| BARRIER.wait().is_leader());
        leads.count()
    };
    let led: usize = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(wait));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!(led, 100, "one leader for each group");
}
