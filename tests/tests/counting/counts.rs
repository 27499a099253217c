//! Numbers of classes that are known from the literature or by counting on paper.

use raddle::FailureKind;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_tests::programs::{mutex_counter, philosophers, racy_counter, run_threads};
use raddle_tests::{classes, exhaust};

#[test]
fn mutex_counter_has_one_class_for_each_order_of_the_lock() {
    assert_eq!(classes(|| mutex_counter(2, 1)), 2);
    assert_eq!(classes(|| mutex_counter(3, 1)), 6);
    assert_eq!(classes(|| mutex_counter(4, 1)), 24);
    assert_eq!(classes(|| mutex_counter(3, 2)), 90);
}

fn racy(threads: usize, increments: usize) -> u64 {
    classes(move || {
        racy_counter(threads, increments);
    })
}

#[test]
fn racy_counter_has_as_many_classes_as_there_are_traces() {
    assert_eq!(racy(2, 1), 4);
    assert_eq!(racy(2, 2), 34);
    assert_eq!(racy(3, 1), 36);
    assert_eq!(racy(3, 2), 7_134);
}

#[test]
fn philosophers_have_two_to_the_n_minus_one() {
    for count in 2..=9 {
        let report = exhaust(move || philosophers(count));
        assert_eq!(report.classes(), (1 << count) - 1, "{count} philosophers");
        assert_eq!(
            report.failures.len(),
            1,
            "one deadlock for {count} philosophers"
        );
        assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    }
}

/// A litmus test: threads that each do one thing to the two variables `x` and `y`.
fn litmus<const N: usize>(threads: [fn(&AtomicUsize, &AtomicUsize); N]) -> u64 {
    classes(move || {
        let variables = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        run_threads(N, move |number| threads[number](&variables.0, &variables.1));
    })
}

fn read(location: &AtomicUsize) {
    location.load(SeqCst);
}

fn write(location: &AtomicUsize, value: usize) {
    location.store(value, SeqCst);
}

#[test]
fn store_buffering() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 2] = [
        |x, y| (write(x, 1), read(y)).1,
        |x, y| (write(y, 1), read(x)).1,
    ];
    assert_eq!(litmus(threads), 3);
}

#[test]
fn message_passing() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 2] = [
        |x, y| (write(x, 1), write(y, 1)).1,
        |x, y| (read(y), read(x)).1,
    ];
    assert_eq!(litmus(threads), 3);
}

#[test]
fn load_buffering() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 2] = [
        |x, y| (read(x), write(y, 1)).1,
        |x, y| (read(y), write(x, 1)).1,
    ];
    assert_eq!(litmus(threads), 3);
}

#[test]
fn two_plus_two_writes() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 2] = [
        |x, y| (write(x, 1), write(y, 2)).1,
        |x, y| (write(y, 1), write(x, 2)).1,
    ];
    assert_eq!(litmus(threads), 3);
}

#[test]
fn independent_reads_of_independent_writes() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 4] = [
        |x, _| write(x, 1),
        |_, y| write(y, 1),
        |x, y| (read(x), read(y)).1,
        |x, y| (read(y), read(x)).1,
    ];
    assert_eq!(litmus(threads), 15);
}

#[test]
fn coherence_of_two_reads() {
    let threads: [fn(&AtomicUsize, &AtomicUsize); 2] = [
        |x, _| (write(x, 1), write(x, 2)).1,
        |x, _| (read(x), read(x)).1,
    ];
    assert_eq!(litmus(threads), 6);
}

#[test]
fn atomic_increments_come_in_every_order() {
    for (threads, factorial) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let count = classes(move || {
            let counter = AtomicUsize::new(0);
            run_threads(threads, move |_| {
                counter.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(count, factorial, "{threads} threads");
    }
}

#[test]
fn one_of_n_threads_wins_a_compare_exchange() {
    for threads in 1..=6 {
        let count = classes(move || {
            let winner = AtomicUsize::new(0);
            run_threads(threads, move |number| {
                let _ = winner.compare_exchange(0, number + 1, SeqCst, SeqCst);
            });
        });
        assert_eq!(count, threads as u64, "{threads} threads");
    }
}

#[test]
fn what_is_assumed_may_be_made_true_by_another_thread() {
    // The load sees the initial value, which is discarded, or the store.
    let report = exhaust(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&value);
        let thread = raddle::thread::spawn(move || write(&other, 1));
        raddle::assume(value.load(SeqCst) == 1);
        thread.join().unwrap();
    });
    report.assert_ok();
    assert_eq!((report.classes(), report.discarded), (1, 1));
    let summary = report.summary().to_string();
    let line = "every behaviour was run: 1 class, without 1 discarded run (";
    assert!(summary.starts_with(line), "{summary}");
}

#[test]
fn a_check_that_discards_every_run_says_so() {
    let summary = exhaust(|| raddle::assume(raddle::choose(0..3) == 3))
        .summary()
        .to_string();
    let line = "nothing was checked: `assume` discarded every one of 3 runs (";
    assert!(summary.starts_with(line), "{summary}");
}

#[test]
fn a_choice_has_one_class_for_each_alternative() {
    let count = classes(|| {
        let thread = raddle::thread::spawn(|| raddle::choose(10..=12));
        let mine: Option<bool> = raddle::any();
        assert!((10..=12).contains(&thread.join().unwrap()));
        raddle::assume(mine != Some(true));
    });
    assert_eq!(count, 6, "three alternatives times None and Some(false)");
}

#[test]
fn a_choice_before_everything_else_leaves_nothing_of_the_memory_after_it() {
    let count = classes(|| {
        let value = AtomicUsize::new(0);
        raddle::choose(0..3);
        value.swap(1, SeqCst);
        value.swap(2, SeqCst);
    });
    assert_eq!(count, 3);
    let count = classes(|| {
        raddle::choose(0..3);
        racy_counter(2, 2);
    });
    assert_eq!(count, 3 * 34);
}
