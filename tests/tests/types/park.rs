//! Parking: who gets the token, what may happen unasked, and parity with std outside a check.
//!
//! A thread's parker is an object of its own: a class is told by the order of `park` and `unpark` on
//! it, and by whether the thread wakes up spuriously, which is ordered with nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::thread;
use raddle::{Checker, FailureKind, Strategy};
use raddle_tests::compare::behaviour;
use raddle_tests::parity::panics;
use raddle_tests::same;

const LONG: Duration = Duration::from_secs(1000);

fn undisturbed() -> Checker {
    Checker::new().spurious_wakeups(false).timeouts(false)
}

fn with_timeouts() -> Checker {
    Checker::new().spurious_wakeups(false)
}

/// One thread parks, main unparks it.
fn park_and_unpark() {
    let thread = thread::spawn(thread::park);
    thread.thread().unpark();
    thread.join().unwrap();
}

#[test]
fn a_token_left_before_the_thread_parks_is_not_lost() {
    // unpark park: there is no other order.
    let seen = behaviour(&undisturbed(), park_and_unpark);
    assert_eq!((seen.classes, seen.kinds()), (1, vec![]));
    // And a wake-up without the token, which has no order with the unpark.
    let seen = behaviour(&Checker::new(), park_and_unpark);
    assert_eq!((seen.classes, seen.kinds()), (2, vec![]));
}

/// Two threads unpark main, and main parks `parks` times.
fn two_tokens(parks: usize) {
    let main = thread::current();
    let threads = [(); 2].map(|()| {
        let main = main.clone();
        thread::spawn(move || main.unpark())
    });
    (0..parks).for_each(|_| thread::park());
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn there_is_one_token_at_most() {
    // The threads in either order; main parks after the first, or after both.
    let seen = behaviour(&undisturbed(), || two_tokens(1));
    assert_eq!((seen.classes, seen.kinds()), (4, vec![]));
    // It parks between the two and after them, or after both: then the second was lost.
    let seen = behaviour(&undisturbed(), || two_tokens(2));
    assert_eq!(
        (seen.classes, seen.kinds()),
        (4, vec![FailureKind::LostWakeup; 2])
    );
}

#[test]
fn a_thread_that_nobody_unparks_waits_for_ever() {
    for checker in [undisturbed(), Checker::new()] {
        let report = checker.strategy(Strategy::Exhaustive).run(|| {
            let parked = thread::Builder::new().name("sleepy".into());
            parked.spawn(|| thread::park()).unwrap().join().unwrap();
        });
        assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
        let message = &report.failures[0].message;
        assert_eq!(
            message.lines().last().unwrap(),
            "sleepy waits at tests/tests/types/park.rs:75 for an unpark"
        );
    }
}

#[test]
fn every_thread_wakes_up_spuriously_once_at_most() {
    let program = || {
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        let thread = thread::spawn(move || {
            let mut rounds = 0;
            while !other.load(SeqCst) {
                thread::park();
                rounds += 1;
            }
            rounds
        });
        ready.store(true, SeqCst);
        thread.thread().unpark();
        thread.join().unwrap()
    };
    let seen = behaviour(&undisturbed(), program);
    assert_eq!(seen.outcomes, BTreeSet::from([0, 1]));
    // The store is seen at once, or after parking.
    assert_eq!((seen.classes, seen.kinds()), (2, vec![]));
    let seen = behaviour(&Checker::new(), program);
    assert_eq!(seen.outcomes, BTreeSet::from([0, 1, 2]));
    // And it wakes up spuriously in the first round, and then sees the store, or not and parks once
    // more.
    assert_eq!((seen.classes, seen.kinds()), (4, vec![]));
}

#[test]
fn a_time_out_may_come_before_the_token_or_after() {
    let program = || {
        let thread = thread::spawn(|| thread::park_timeout(LONG));
        thread.thread().unpark();
        thread.join().unwrap();
    };
    // unpark park; park unpark.
    assert_eq!(behaviour(&with_timeouts(), program).classes, 2);
    // And a spurious wake-up.
    assert_eq!(behaviour(&Checker::new(), program).classes, 3);
    // No thread unparks: then only the timeout can end the wait.
    let seen = behaviour(&with_timeouts(), || thread::park_timeout(LONG));
    assert_eq!((seen.classes, seen.kinds()), (1, vec![]));
    let seen = behaviour(&undisturbed(), || thread::park_timeout(LONG));
    assert_eq!(seen.kinds(), [FailureKind::Deadlock]);
}

/// A hand-written lock that forgets to look again after parking.
fn trusts_the_token() {
    let ready = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&ready);
    let main = thread::current();
    let thread = thread::spawn(move || {
        other.store(1, SeqCst);
        main.unpark();
    });
    thread::park();
    assert_eq!(ready.load(SeqCst), 1, "woken for nothing");
    thread.join().unwrap();
}

#[test]
fn trusting_the_token_is_caught_by_a_spurious_wake_up_and_replayed() {
    assert_eq!(behaviour(&undisturbed(), trusts_the_token).kinds(), []);
    for strategy in [Strategy::Exhaustive, Strategy::Random, Strategy::Auto] {
        let report = Checker::new().strategy(strategy).run(trusts_the_token);
        let failure = &report.failures[0];
        assert!(failure.message.contains("woken for nothing"), "{failure}");
        let mut steps = failure.trace.steps.iter().map(|step| step.what.as_str());
        assert!(steps.any(|what| what == "park (wakes up spuriously)"));
        let replayed = Checker::new()
            .strategy(Strategy::Replay(failure.schedule.clone()))
            .run(trusts_the_token);
        assert_eq!(replayed.failures[0].message, failure.message);
        assert_eq!(replayed.failures[0].schedule, failure.schedule);
    }
}

#[test]
fn the_story_says_who_is_unparked() {
    let report = undisturbed().strategy(Strategy::Exhaustive).run(|| {
        let thread = thread::Builder::new().name("sleepy".into());
        let thread = thread.spawn(thread::park).unwrap();
        thread.thread().unpark();
        thread.join().unwrap();
        panic!("to be told");
    });
    let steps = report.failures[0].trace.steps.iter();
    let parking: Vec<_> = (steps.map(|step| (step.thread, step.what.as_str())))
        .filter(|(_, what)| what.contains("park"))
        .collect();
    assert_eq!(parking, [(0, "unpark sleepy"), (1, "park")]);
}

#[test]
fn a_thread_may_unpark_itself_and_one_that_has_ended() {
    let seen = behaviour(&undisturbed(), || {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        let thread = thread::spawn(|| {});
        let handle = thread.thread().clone();
        thread.join().unwrap();
        handle.unpark();
    });
    assert_eq!((seen.classes, seen.kinds()), (1, vec![]));
}

#[test]
fn nobody_outside_may_unpark_a_thread_of_a_check() {
    let handle = std::sync::Mutex::new(None);
    raddle::check(|| *handle.lock().unwrap() = Some(thread::current()));
    let handle = handle.into_inner().unwrap().unwrap();
    let text = "raddle: a thread of a check is unparked outside its execution; only threads of the \
                same execution can do that";
    assert_eq!(panics(|| handle.unpark()), text);
    raddle::check(|| assert_eq!(panics(|| handle.unpark()), text));
    let report = undisturbed().run(|| {
        let handle = thread::current();
        let outside = std::thread::spawn(move || panics(|| handle.unpark()));
        assert_eq!(outside.join().unwrap(), text);
    });
    assert_eq!(report.failures[0].kind, FailureKind::Uncontrolled);
}

#[test]
fn parked_threads_are_unwound() {
    let report = undisturbed().strategy(Strategy::Exhaustive).run(|| {
        struct ParksToo;
        impl Drop for ParksToo {
            fn drop(&mut self) {
                thread::current().unpark();
                thread::park();
            }
        }
        let _parks = ParksToo;
        thread::park();
    });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
}

#[test]
#[allow(deprecated)]
fn outside_a_check_it_is_stds() {
    same!(|sync, thread| {
        let parked = thread::spawn(|| {
            let short = Duration::from_millis(1);
            thread::park_timeout(short);
            thread::park_timeout_ms(1);
            thread::current().unpark();
            thread::park();
            let parent = thread::current();
            let child = thread::spawn(move || parent.unpark());
            thread::park();
            child.join().is_ok()
        });
        parked.thread().clone().unpark();
        let done = sync::atomic::AtomicBool::new(parked.join().unwrap());
        done.into_inner()
    });
}
