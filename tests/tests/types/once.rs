//! One-time initialisation: who does it, who waits for it, and parity with std outside a check.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, LazyLock, Once, OnceLock};
use raddle::thread;
use raddle::{FailureKind, Report};
use raddle_tests::compare::outcomes;
use raddle_tests::parity::{panics, text};
use raddle_tests::programs::run_threads;
use raddle_tests::same;
use raddle_tests::{classes, exhaust};

fn deadlocks(report: &Report) -> bool {
    report.failures.len() == 1 && report.failures[0].kind == FailureKind::Deadlock
}

#[test]
fn one_of_several_threads_does_it_and_all_see_it_done() {
    // The first thread to begin does it; the others come after the end, in any order.
    let classes = classes(|| {
        let shared = Arc::new((Once::new(), AtomicU32::new(0)));
        run_threads(3, move |_| {
            shared.0.call_once(|| {
                shared.1.fetch_add(1, SeqCst);
            });
            assert_eq!(Arc::clone(&shared).1.load(SeqCst), 1);
        });
    });
    assert_eq!(classes, 6);
}

#[test]
fn whether_it_is_done_is_an_observation() {
    let (seen, classes) = outcomes(|| {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        let thread = thread::spawn(move || other.call_once(|| {}));
        let done = once.is_completed();
        thread.join().unwrap();
        assert!(once.is_completed());
        done
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
    // Before the beginning, between beginning and end, and after the end.
    assert_eq!(classes, 3);
}

#[test]
fn waiting_ends_when_it_is_done() {
    let classes = classes(|| {
        let shared = Arc::new((Once::new(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.0.call_once(|| other.1.store(1, SeqCst)));
        shared.0.wait();
        assert_eq!(shared.1.load(SeqCst), 1);
        thread.join().unwrap();
    });
    assert_eq!(classes, 1);
    let report = exhaust(|| Once::new().wait());
    assert!(deadlocks(&report), "nobody does it");
}

#[test]
fn doing_it_while_doing_it_is_a_deadlock_with_oneself() {
    let report = exhaust(|| {
        let once = Once::new();
        once.call_once(|| once.call_once(|| {}));
    });
    assert!(deadlocks(&report));
    let message = &report.failures[0].message;
    assert!(
        message.contains("main holds Once `once` (since "),
        "{message}"
    );
    assert!(
        message.ends_with("for Once `once`, which it holds itself"),
        "{message}"
    );
    let report = exhaust(|| {
        let cell = OnceLock::new();
        cell.get_or_init(|| *cell.get_or_init(|| 1));
    });
    assert!(deadlocks(&report));
}

#[test]
fn two_that_need_each_other_deadlock() {
    let report = exhaust(|| {
        let both = Arc::new((OnceLock::new(), OnceLock::new()));
        let other = Arc::clone(&both);
        let thread = thread::spawn(move || {
            other.0.get_or_init(|| *other.1.get_or_init(|| 1));
        });
        both.1.get_or_init(|| *both.0.get_or_init(|| 2));
        thread.join().unwrap();
    });
    assert!(deadlocks(&report));
    // Each has begun with its own; or one does both, and then the other finds its own done and looks
    // no further.
    assert_eq!(report.classes(), 3);
}

#[test]
fn a_panic_poisons_it_until_somebody_insists() {
    exhaust(|| {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        let thread = thread::spawn(move || other.call_once(|| panic!("while it is done")));
        assert!(thread.join().is_err());
        assert!(!once.is_completed());
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
        once.call_once_force(|state| assert!(state.is_poisoned()));
        once.call_once(|| unreachable!("it is done"));
        once.wait();
        once.wait_force();
        assert!(once.is_completed());
    })
    .assert_ok();
}

#[test]
fn a_cell_has_one_value() {
    let (seen, classes) = outcomes(|| {
        let cell = Arc::new(OnceLock::new());
        let other = Arc::clone(&cell);
        let thread = thread::spawn(move || other.set(1).is_ok());
        let mine = cell.set(2).is_ok();
        let theirs = thread.join().unwrap();
        assert_ne!(mine, theirs);
        *cell.get().unwrap()
    });
    assert_eq!((seen, classes), (BTreeSet::from([1, 2]), 2));
}

#[test]
fn a_cell_is_empty_until_its_initialiser_has_ended() {
    let (seen, classes) = outcomes(|| {
        let cell = Arc::new(OnceLock::new());
        let other = Arc::clone(&cell);
        let thread = thread::spawn(move || *other.get_or_init(|| 7));
        let seen = cell.get().copied();
        assert_eq!(thread.join().unwrap(), 7);
        assert_eq!(*cell.wait(), 7);
        seen
    });
    // Before the beginning, between beginning and end, and after the end.
    assert_eq!((seen, classes), (BTreeSet::from([None, Some(7)]), 3));
}

#[test]
fn statics_are_made_anew_in_every_execution_and_check() {
    static CELL: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| raddle::choose(0..3_u32));
    static DONE: Once = Once::new();
    let program = || {
        assert_eq!(CELL.get(), None);
        assert!(!DONE.is_completed());
        DONE.call_once(|| {});
        CELL.set(*LAZY + 1).unwrap();
        assert_eq!(*LAZY + 1, *CELL.get().unwrap());
        *LAZY
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                assert_eq!(outcomes(program), (BTreeSet::from([0, 1, 2]), 3));
            });
        }
    });
    assert_eq!((CELL.get(), DONE.is_completed()), (None, false));
}

#[test]
fn a_lazy_value_is_made_once() {
    let classes = classes(|| {
        let made = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&made);
        let lazy = Arc::new(LazyLock::new(move || count.fetch_add(1, SeqCst) + 5));
        run_threads(2, move |_| assert_eq!(**lazy, 5));
        assert_eq!(made.load(SeqCst), 1);
    });
    assert_eq!(classes, 2);
}

#[test]
fn a_closure_that_has_run_cannot_run_in_the_next_execution() {
    let owned = String::from("owned");
    let lazy = LazyLock::new(move || owned);
    let report = exhaust(|| {
        raddle::any::<bool>();
        assert_eq!(*lazy, "owned");
    });
    assert_eq!(report.failures.len(), 1);
    let message = &report.failures[0].message;
    assert!(
        message.contains("has run its closure in an earlier execution"),
        "{message}"
    );
}

fn does_as_std() {
    same!(|sync| {
        let mut results = Vec::new();
        let once = sync::Once::new();
        results.push(text((&once, once.is_completed())));
        results.push(panics(|| once.call_once(|| panic!("first"))));
        results.push(panics(|| once.call_once(|| {})));
        results.push(panics(|| once.wait()));
        once.call_once_force(|state| results.push(text(state)));
        once.call_once_force(|state| results.push(text(state)));
        once.call_once(|| unreachable!());
        once.wait();
        once.wait_force();
        results.push(text(once.is_completed()));

        let cell = sync::OnceLock::new();
        results.push(text((&cell, cell.get(), cell.clone() == cell)));
        results.push(panics(|| {
            cell.get_or_init(|| panic!("second"));
        }));
        results.push(text((cell.set(vec![1]), cell.set(vec![2]))));
        results.push(text((&cell, cell.get(), cell.wait())));
        let mut copy = cell.clone();
        results.push(text((copy == cell, copy.get_or_init(Vec::new))));
        copy.get_mut().unwrap().push(3);
        results.push(text((copy == cell, copy.take(), copy.get_mut())));
        results.push(text((
            copy.set(vec![4]),
            copy.into_inner(),
            cell.into_inner(),
        )));
        let default = sync::OnceLock::<u8>::default();
        results.push(text((default, sync::OnceLock::from(5))));

        let lazy = sync::LazyLock::new(|| String::from("made"));
        results.push(text(&lazy));
        results.push(text((lazy.len(), sync::LazyLock::force(&lazy), &lazy)));
        results.push(text(*sync::LazyLock::<u8>::default()));
        let lazy: sync::LazyLock<u8> = sync::LazyLock::new(|| panic!("third"));
        results.push(panics(|| assert_eq!(*lazy, 0)));
        results.push(panics(|| assert_eq!(*lazy, 0)));
        results
    });
}

#[test]
fn outside_a_check_it_is_stds() {
    does_as_std();
}

#[test]
fn inside_a_check_it_does_as_outside() {
    exhaust(does_as_std).assert_ok();
}
