//! Panics that follow from another: the first is what is reported, the others are mentioned.
//!
//! The programs stand at the top, so that their line numbers stay what the messages say.

use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Strategy, thread};

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(body).unwrap()
}

/// The thread that panics first is never joined.
fn poisons_a_lock() {
    let lock = Arc::new(Mutex::new(0));
    let other = Arc::clone(&lock);
    named("first", move || {
        let _guard = other.lock().unwrap();
        panic!("the cause");
    });
    *lock.lock().unwrap() += 1;
}

/// The panic that began it was dealt with.
fn joins_and_forgets() {
    let lock = Arc::new(Mutex::new(0));
    let other = Arc::clone(&lock);
    let first = named("first", move || {
        let _guard = other.lock().unwrap();
        panic!("the cause");
    });
    assert!(first.join().is_err());
    *lock.lock().expect("a good lock") += 1;
}

/// One lock after the other.
fn poisons_in_turn() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    let first = named("first", move || {
        let _guard = other.0.lock().unwrap();
        panic!("the cause");
    });
    let _ = first.join();
    let other = Arc::clone(&locks);
    let second = named("second", move || {
        let _guard = other.1.lock().unwrap();
        drop(other.0.lock().unwrap());
    });
    let _ = second.join();
    drop(locks.1.lock().unwrap());
}

/// The lock is poisoned, and that is not what goes wrong.
fn does_not_mind() {
    let lock = Arc::new(Mutex::new(0));
    let other = Arc::clone(&lock);
    let first = named("first", move || {
        let _guard = other.lock().unwrap();
        panic!("dealt with");
    });
    let _ = first.join();
    assert_eq!(*lock.lock().unwrap_or_else(|error| error.into_inner()), 1);
}

#[track_caller]
fn says(program: fn(), lines: &[&str]) {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.keep_going(true).run(program);
    let [failure] = &report.failures[..] else {
        panic!("{report}");
    };
    assert_eq!(failure.kind, FailureKind::Panic);
    assert_eq!(failure.message, lines.join("\n"));
}

#[test]
fn a_poisoned_lock_is_not_the_cause() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .shorten(false)
        .run(poisons_a_lock);
    let mut messages: Vec<_> = report.failures.iter().map(|one| &*one.message).collect();
    messages.sort();
    // Main comes first, or it does not.
    let cause = "first panicked at tests/tests/telling/panics.rs:19:9:\nthe cause";
    let in_turn = format!(
        "{cause}\nand main panicked in turn at tests/tests/telling/panics.rs:21:18, because Mutex `lock` is \
         poisoned"
    );
    assert_eq!(messages, [cause, &in_turn]);
}

#[test]
fn a_panic_that_was_dealt_with_may_still_be_the_cause() {
    says(
        joins_and_forgets,
        &[
            "first panicked at tests/tests/telling/panics.rs:30:9:",
            "the cause",
            "and main panicked in turn at tests/tests/telling/panics.rs:33:18, because Mutex `lock` is poisoned",
        ],
    );
    says(
        poisons_in_turn,
        &[
            "first panicked at tests/tests/telling/panics.rs:42:9:",
            "the cause",
            "and second panicked in turn at tests/tests/telling/panics.rs:48:29, because Mutex `locks.0` is \
             poisoned",
            "and main panicked in turn at tests/tests/telling/panics.rs:51:25, because Mutex `locks.1` is poisoned",
        ],
    );
}

#[test]
fn a_thread_that_ignored_a_panic_says_what_else_is_wrong() {
    says(
        does_not_mind,
        &[
            "first panicked at tests/tests/telling/panics.rs:60:9:",
            "dealt with",
            "and main, which joined it, panicked in turn at tests/tests/telling/panics.rs:63:5:",
            "assertion `left == right` failed",
            "  left: 0",
            " right: 1",
        ],
    );
}
