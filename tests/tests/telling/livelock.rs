//! Threads that poll a value that no running thread changes: what is said, and that every
//! strategy finds it.
//!
//! The programs stand at the top, so that their line numbers stay what the messages say.

use std::time::Duration;

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, FailureKind, Strategy, label, thread};

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(body).unwrap()
}

/// No thread sets the flag.
fn forgotten_flag() {
    let ready = Arc::new(AtomicBool::new(false));
    label!("ready", &*ready);
    let waiter = named("waiter", move || while !ready.load(SeqCst) {});
    waiter.join().unwrap();
}

/// Each waits for the other to be first.
fn after_you() {
    let gone = Arc::new([const { AtomicBool::new(false) }; 2]);
    label!("left gone", &gone[0]);
    label!("right gone", &gone[1]);
    let other = Arc::clone(&gone);
    let left = named("left", move || {
        while !other[1].load(SeqCst) {
            thread::yield_now();
        }
        other[0].store(true, SeqCst);
    });
    let right = named("right", move || {
        while !gone[0].load(SeqCst) {
            thread::yield_now();
        }
        gone[1].store(true, SeqCst);
    });
    left.join().unwrap();
    right.join().unwrap();
}

/// A spin lock that one of them does not give back.
fn never_given_back() {
    let taken = Arc::new(AtomicBool::new(false));
    label!("taken", &*taken);
    let lock = |taken: &AtomicBool| while taken.swap(true, SeqCst) {};
    let other = Arc::clone(&taken);
    let one = named("one", move || lock(&other));
    one.join().unwrap();
    named("two", move || lock(&taken)).join().unwrap();
}

/// Spins under a lock that the other one needs to end the wait.
fn spins_under_a_lock() {
    let shared = Arc::new((Mutex::new(()), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    let setter = named("setter", move || {
        let _held = other.0.lock().unwrap();
        other.1.store(true, SeqCst);
    });
    let held = shared.0.lock().unwrap();
    while !shared.1.load(SeqCst) {}
    drop(held);
    setter.join().unwrap();
}

/// Tries for a lock that the same thread has.
fn tries_for_its_own_lock() {
    let lock = Mutex::new(());
    let _held = lock.lock().unwrap();
    while lock.try_lock().is_err() {}
}

/// Two flags, of which one is set.
fn one_of_two_flags() {
    let flags = Arc::new([const { AtomicU32::new(0) }; 2]);
    let other = Arc::clone(&flags);
    let setter = named("setter", move || other[0].store(7, SeqCst));
    setter.join().unwrap();
    while flags[0].load(SeqCst) == 0 || flags[1].load(SeqCst) == 0 {}
}

/// Waits with a timeout, again and again.
fn times_out_without_end() {
    let (lock, condvar) = (Mutex::new(false), Condvar::new());
    let mut ready = lock.lock().unwrap();
    while !*ready {
        ready = condvar.wait_timeout(ready, Duration::ZERO).unwrap().0;
    }
}

/// What every strategy says of the program.
fn message(program: fn()) -> String {
    let exhaustive = Checker::new().strategy(Strategy::Exhaustive);
    let found = exhaustive.run(program);
    let failure = &found.failures[0];
    assert_eq!(failure.kind, FailureKind::Livelock, "{failure}");
    let replay = Strategy::Replay(failure.schedule.clone());
    let random = Strategy::Random;
    for strategy in [replay, random, Strategy::EnumeratePrivateFirst] {
        let again = Checker::new().strategy(strategy).run(program);
        let same = (again.failures[0].kind, &again.failures[0].message);
        assert_eq!(same, (failure.kind, &failure.message), "{}", again);
    }
    failure
        .message
        .replace("tests/tests/telling/livelock.rs", "")
}

const HELP: &str = "help: no other thread is left to change that: it must be changed earlier, or the \
                    loop must end in another way";

#[test]
fn a_forgotten_flag() {
    assert_eq!(
        message(forgotten_flag),
        format!(
            "waiter spins: load ready = false at :21, which no thread has changed\n\
             main waits at :22 for waiter to end\n\
             {HELP}"
        )
    );
}

#[test]
fn each_waits_for_the_other() {
    assert_eq!(
        message(after_you),
        format!(
            "left spins: load right gone = false at :32, which no thread has changed\n\
             right spins: load left gone = false at :38, which no thread has changed\n\
             main waits at :43 for left to end\n\
             {HELP}"
        )
    );
}

#[test]
fn a_lock_that_is_not_given_back() {
    assert_eq!(
        message(never_given_back),
        format!(
            "two spins: swap taken: true to true at :51, since one did: \
             swap taken: false to true at :51\n\
             main waits at :55 for two to end\n\
             {HELP}"
        )
    );
}

#[test]
fn a_spinner_that_holds_what_the_other_needs() {
    assert_eq!(
        message(spins_under_a_lock),
        format!(
            "main spins: load shared.1 = false at :67, which no thread has changed\n\
             setter waits at :63 for Mutex `shared.0`, held by main (since :66)\n\
             {HELP}"
        )
    );
}

#[test]
fn a_lock_of_its_own() {
    assert_eq!(
        message(tries_for_its_own_lock),
        format!(
            "main spins: try-lock lock fails at :76, since it did: lock lock at :75\n\
             {HELP}"
        )
    );
}

#[test]
fn two_flags() {
    let first = "load flags#1 = 7 at :85, since setter did: store 7 to flags#1 at :83";
    let second = "load flags#2 = 0 at :85, which no thread has changed";
    let said = |one, other| format!("main spins:\n  {one}\n  {other}\n{HELP}");
    let message = message(one_of_two_flags);
    // A round may begin with either.
    assert!(
        [said(first, second), said(second, first)].contains(&message),
        "{message}"
    );
}

#[test]
fn a_wait_that_times_out_again_and_again() {
    assert_eq!(
        message(times_out_without_end),
        format!(
            "main spins: wake condvar (timed out) at :93\n\
             {HELP}"
        )
    );
}
