//! Weak compare-exchange: it may fail for no reason, once for each thread, and that is a class of
//! its own only where it would have succeeded.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, thread};
use raddle_tests::compare::behaviour;
use raddle_tests::programs::run_threads;

fn strong() -> Checker {
    Checker::new().weak_cas(false)
}

fn exchange(value: &AtomicU32, expected: u32, new: u32) -> Result<u32, u32> {
    value.compare_exchange_weak(expected, new, SeqCst, SeqCst)
}

#[test]
fn it_may_fail_only_where_it_would_have_succeeded() {
    let once = |expected| move || exchange(&AtomicU32::new(3), expected, 4);
    let seen = behaviour(&Checker::new(), once(3));
    assert_eq!(seen.outcomes, BTreeSet::from([Ok(3), Err(3)]));
    assert_eq!(seen.classes, 2);
    let seen = behaviour(&Checker::new(), once(5));
    assert_eq!((seen.outcomes, seen.classes), (BTreeSet::from([Err(3)]), 1));
    let seen = behaviour(&strong(), once(3));
    assert_eq!((seen.outcomes, seen.classes), (BTreeSet::from([Ok(3)]), 1));
}

#[test]
fn one_of_n_threads_wins_or_none() {
    // One of n wins; each of the others comes after it, or comes before it and fails for no reason.
    // Or all fail for no reason. A choice before a load would also tell apart the ways in which a
    // thread that comes too late fails: 2, 7 and 28 classes instead of 2, 5 and 13.
    for (threads, expected) in [(1, 2), (2, 5), (3, 13), (4, 33)] {
        let program = || {
            let (value, results) = (AtomicU32::new(0), Arc::new(StdMutex::new(Vec::new())));
            let shared = Arc::clone(&results);
            run_threads(threads, move |number| {
                let result = exchange(&value, 0, 1 + number as u32);
                shared.lock().unwrap().push(result.is_ok());
            });
            let results = results.lock().unwrap();
            results.iter().filter(|&&won| won).count()
        };
        if threads < 4 {
            let seen = behaviour(&Checker::new(), program);
            assert_eq!(seen.outcomes, BTreeSet::from([0, 1]));
            assert_eq!(seen.classes, expected);
            let seen = behaviour(&strong(), program);
            assert_eq!(seen.outcomes, BTreeSet::from([1]));
            assert_eq!(seen.classes, threads as u64);
        } else {
            let count = raddle_tests::classes(|| assert!(program() < 2));
            assert_eq!(count, expected);
        }
    }
}

#[test]
fn every_thread_fails_spuriously_once_at_most() {
    // A thread that needs k successes: no failure, or one before any of them.
    for successes in 1..4 {
        let seen = behaviour(&Checker::new(), move || {
            let (value, mut failures) = (AtomicU32::new(0), 0);
            for number in 0..successes {
                while exchange(&value, number, number + 1).is_err() {
                    failures += 1;
                }
            }
            failures
        });
        assert_eq!(seen.outcomes, BTreeSet::from([0, 1]));
        assert_eq!(seen.classes, 1 + u64::from(successes));
    }
    // Each thread has its own.
    let seen = behaviour(&Checker::new(), || {
        let value = Arc::new(AtomicU32::new(0));
        let add = |value: &AtomicU32| {
            let (mut old, mut spurious) = (value.load(SeqCst), 0);
            while let Err(found) = exchange(value, old, old + 1) {
                spurious += u32::from(found == old);
                old = found;
            }
            spurious
        };
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || add(&other));
        let spurious = (add(&value), thread.join().unwrap());
        assert_eq!(value.load(SeqCst), 2, "no update is lost");
        spurious
    });
    assert_eq!(seen.kinds(), []);
    assert_eq!(
        seen.outcomes,
        BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)])
    );
}

#[test]
fn a_failed_exchange_is_an_ordinary_read() {
    // Whether the other thread's store comes before or after, for success and for failure: the
    // store before a success is no success.
    let seen = behaviour(&Checker::new(), || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || other.store(7, SeqCst));
        let result = exchange(&value, 0, 1);
        thread.join().unwrap();
        (result, value.load(SeqCst))
    });
    let expected = [(Ok(0), 7), (Err(0), 7), (Err(7), 7)];
    assert_eq!(seen.outcomes, BTreeSet::from(expected));
    assert_eq!(seen.classes, 3);
    // A store of the expected value: before or after, with or without success.
    let seen = behaviour(&Checker::new(), || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || other.store(0, SeqCst));
        let result = exchange(&value, 0, 1);
        thread.join().unwrap();
        (result, value.load(SeqCst))
    });
    let expected = [(Ok(0), 0), (Ok(0), 1), (Err(0), 0)];
    assert_eq!(seen.outcomes, BTreeSet::from(expected));
    assert_eq!(seen.classes, 4);
}

/// A lock that takes a failed exchange for a lock that is held.
fn does_not_try_again() {
    let taken = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&taken);
    let thread = thread::spawn(move || {
        other
            .compare_exchange_weak(false, true, SeqCst, SeqCst)
            .is_ok()
    });
    let mine = taken
        .compare_exchange_weak(false, true, SeqCst, SeqCst)
        .is_ok();
    assert!(mine | thread.join().unwrap(), "nobody got it");
}

#[test]
fn not_trying_again_is_caught_told_and_replayed() {
    strong().run(does_not_try_again).assert_ok();
    for strategy in [Strategy::Exhaustive, Strategy::Random, Strategy::Enumerate] {
        let report = Checker::new().strategy(strategy).run(does_not_try_again);
        let failure = &report.failures[0];
        assert!(failure.message.contains("nobody got it"), "{failure}");
        let told = "compare-exchange taken fails spuriously: false";
        let steps = failure.trace.steps.iter();
        assert_eq!(steps.filter(|step| step.what == told).count(), 2);
        let schedule = failure.schedule.to_string();
        assert_eq!(schedule.matches("compare-exchange AtomicBool=1").count(), 2);
        let replay = Strategy::Replay(schedule.parse().unwrap());
        let replayed = Checker::new().strategy(replay).run(does_not_try_again);
        assert_eq!(replayed.failures[0].message, failure.message);
        assert_eq!(replayed.failures[0].schedule, failure.schedule);
    }
}

#[raddle::test(weak_cas = false)]
fn the_option_of_the_attribute_reaches_the_check() {
    does_not_try_again();
}

#[test]
fn strong_ones_never_fail_spuriously() {
    let seen = behaviour(&Checker::new(), || {
        let (value, mut calls) = (AtomicU32::new(0), 0);
        assert_eq!(value.compare_exchange(0, 1, SeqCst, SeqCst), Ok(0));
        let mut next = |old| {
            calls += 1;
            old + 1
        };
        let updated = value.fetch_update(SeqCst, SeqCst, |old| Some(next(old)));
        assert_eq!(updated, Ok(1));
        assert_eq!(
            value.try_update(SeqCst, SeqCst, |old| Some(next(old))),
            Ok(2)
        );
        assert_eq!(value.update(SeqCst, SeqCst, &mut next), 3);
        calls
    });
    assert_eq!((seen.outcomes, seen.classes), (BTreeSet::from([3]), 1));
}

#[test]
fn pointers_fail_too() {
    let seen = behaviour(&Checker::new(), || {
        let mut target = 1;
        let pointer = AtomicPtr::new(std::ptr::null_mut());
        let result =
            pointer.compare_exchange_weak(std::ptr::null_mut(), &raw mut target, SeqCst, SeqCst);
        (result.is_ok(), pointer.load(SeqCst).is_null())
    });
    assert_eq!(
        seen.outcomes,
        BTreeSet::from([(true, false), (false, true)])
    );
}

#[test]
fn what_is_left_of_an_execution_is_not_disturbed() {
    struct Retries(AtomicU32);
    impl Drop for Retries {
        fn drop(&mut self) {
            assert_eq!(
                exchange(&self.0, 0, 1),
                Ok(0),
                "after the execution stopped"
            );
        }
    }
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let _retries = Retries(AtomicU32::new(0));
        assert!(exchange(&AtomicU32::new(0), 0, 1).is_ok() || raddle::any());
        thread::park();
    });
    let message = &report.failures[0].message;
    assert!(message.contains("for an unpark"), "{message}");
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
}
