//! `Barrier`: its classes counted on paper, who leads, deadlocks, and std's behaviour.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier};
use raddle::{FailureKind, thread};
use raddle_tests::programs::run_threads;
use raddle_tests::{classes, exhaust};

#[test]
fn threads_arrive_and_leave_in_every_order() {
    // They arrive in n! orders; the last one leads and goes on; the others leave in (n - 1)! orders.
    for (threads, expected) in [(1, 1), (2, 2), (3, 6 * 2), (4, 24 * 6)] {
        let count = classes(move || {
            let barrier = Barrier::new(threads);
            run_threads(threads, move |_| {
                barrier.wait();
            });
        });
        assert_eq!(count, expected, "{threads} threads");
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
    // Say the second thread leads the first group; it goes on to arrive again before the first
    // thread leaves, between that and its next arrival, or behind both. Then one is left to leave.
    let count = classes(|| {
        let barrier = Barrier::new(2);
        run_threads(2, move |_| {
            barrier.wait();
            barrier.wait();
        });
    });
    assert_eq!(count, 2 * 3);
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
            line.starts_with(&format!("{thread} waits at tests/tests/barrier.rs:")),
            "{line}"
        );
        assert!(line.ends_with(" for Barrier"), "{line}");
    }
    assert_eq!(report.classes(), 2, "they arrive in two orders");
}

#[test]
fn more_threads_than_a_group_leave_one_behind() {
    let report = exhaust(|| {
        let barrier = Barrier::new(2);
        run_threads(3, move |_| {
            barrier.wait();
        });
    });
    // They arrive in 3! orders a b c, and a leaves before c arrives or behind it.
    assert_eq!(report.classes(), 6 * 2);
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
