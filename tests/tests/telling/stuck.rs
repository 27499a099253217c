//! Threads that wait for ever or go on for ever: which kind of failure that is, and what is said.
//!
//! The programs stand at the top, so that their line numbers stay what the messages say.

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::channel;
use raddle::sync::{Arc, Condvar, LazyLock, Mutex, Once};
use raddle::{Checker, FailureKind, Schedule, Strategy, thread};

type Shared<T> = Arc<(Mutex<T>, Condvar)>;

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(body).unwrap()
}

/// Two threads wait for each other when the body has ended.
fn cycle_without_main() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    named("left", move || {
        let _first = other.0.lock().unwrap();
        let _second = other.1.lock().unwrap();
    });
    named("right", move || {
        let _second = locks.1.lock().unwrap();
        let _first = locks.0.lock().unwrap();
    });
}

/// One thread waits for itself, another spins.
fn cycle_beside_a_loop() {
    named("spinner", || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {}
    });
    let lock = Mutex::new(());
    let _held = lock.lock().unwrap();
    drop(lock.lock());
}

/// No message is ever sent, and the body does not wait.
fn worker_without_work() {
    let (sender, receiver) = channel::<u32>();
    std::mem::forget(sender);
    named("worker", move || assert!(receiver.recv().is_err()));
}

fn workers_without_work() {
    let shared: Shared<bool> = Arc::default();
    for name in ["one", "two"] {
        let shared = Arc::clone(&shared);
        named(name, move || {
            let guard = shared.0.lock().unwrap();
            drop(shared.1.wait_while(guard, |stop| !*stop));
        });
    }
}

/// The waiter does not look at anything before it waits.
fn waits_without_looking() {
    let shared: Shared<bool> = Arc::default();
    let other = Arc::clone(&shared);
    let waiter = named("waiter", move || {
        let guard = other.0.lock().unwrap();
        drop(other.1.wait(guard).unwrap());
    });
    *shared.0.lock().unwrap() = true;
    shared.1.notify_one();
    waiter.join().unwrap();
}

/// The condition is changed without the lock.
fn changes_without_the_lock() {
    let shared: Shared<()> = Arc::default();
    let done = Arc::new(AtomicBool::new(false));
    let (other, flag) = (Arc::clone(&shared), Arc::clone(&done));
    let waiter = named("waiter", move || {
        let mut guard = other.0.lock().unwrap();
        while !flag.load(SeqCst) {
            guard = other.1.wait(guard).unwrap();
        }
    });
    done.store(true, SeqCst);
    shared.1.notify_all();
    waiter.join().unwrap();
}

/// A monitor, and a thread that does not look before it waits.
fn signals_nobody() {
    let monitor = Arc::new(Monitor::new(Discipline::SignalContinue, false));
    let ready = monitor.condition();
    let other = Arc::clone(&monitor);
    let waiter = named("waiter", move || {
        let mut inside = other.enter();
        inside.wait(ready);
    });
    let mut inside = monitor.enter();
    *inside = true;
    inside.signal(ready);
    drop(inside);
    waiter.join().unwrap();
}

/// Two tokens are one.
fn unparked_twice() {
    let main = thread::current();
    named("helper", move || {
        main.unpark();
        main.unpark();
    });
    thread::park();
    thread::park();
}

/// The one item is taken by another; no notification is lost.
fn too_few_items() {
    let shared: Shared<u32> = Arc::default();
    let take = |name: &str| {
        let shared = Arc::clone(&shared);
        named(name, move || {
            let items = shared.0.lock().unwrap();
            let mut items = shared.1.wait_while(items, |items| *items == 0).unwrap();
            *items -= 1;
        })
    };
    *shared.0.lock().unwrap() += 1;
    shared.1.notify_one();
    let takers = [take("first"), take("second")];
    takers.into_iter().for_each(|taker| taker.join().unwrap());
}

fn waits_in_a_loop() {
    let turn = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&turn);
    let waiter = named("waiter", move || {
        while other.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
    while turn.load(SeqCst) == 0 {}
    waiter.join().unwrap();
}

/// Waits twice and is notified once, each time when it waits already.
fn waits_for_more_than_is_sent() {
    let (stage, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = stage.lock().unwrap();
            *guard = 1;
            guard = changed.wait(guard).unwrap();
            drop(changed.wait(guard));
        });
        // Only then does the other thread wait.
        raddle::assume(*stage.lock().unwrap() == 1);
        changed.notify_one();
    });
}

/// The other condition variable is notified, on which no thread waits.
fn notifies_the_other_one() {
    let (ready, filled, emptied) = (Mutex::new(false), Condvar::new(), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| drop(filled.wait(ready.lock().unwrap())));
        *ready.lock().unwrap() = true;
        emptied.notify_one();
    });
}

/// There is one item, as was notified; the waiter looks, and waits for two.
fn one_is_not_enough() {
    let (items, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = items.lock().unwrap();
            drop(changed.wait_while(guard, |items| *items < 2));
        });
        *items.lock().unwrap() += 1;
        changed.notify_one();
    });
}

/// Notified first, and changed after that.
fn notifies_too_early() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = ready.lock().unwrap();
            drop(changed.wait_while(guard, |ready| !*ready));
        });
        changed.notify_one();
        *ready.lock().unwrap() = true;
    });
}

/// The initialiser panics, and the value is never available.
fn lazily_never() {
    static LIMIT: LazyLock<u32> = LazyLock::new(|| "ten".parse().unwrap());
    let reader = named("reader", || assert!(*LIMIT > 0));
    let _ = reader.join();
    assert_eq!(*LIMIT, 10);
}

fn once_and_never_again() {
    let once = Arc::new(Once::new());
    let other = Arc::clone(&once);
    let first = named("first", move || {
        other.call_once(|| panic!("cannot be done"))
    });
    let _ = first.join();
    once.call_once(|| {});
}

/// Initialisation that needs itself.
fn lazy_circle() {
    static FIRST: LazyLock<u32> = LazyLock::new(|| *SECOND + 1);
    static SECOND: LazyLock<u32> = LazyLock::new(|| *FIRST + 1);
    assert_eq!(*FIRST, 1);
}

/// Two wait, and one is notified. A notification before the first wait has nothing to do with it.
fn stops_one_of_two() {
    let (stop, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        for name in ["one", "two"] {
            let worker = thread::Builder::new().name(name.into());
            let wait = || drop(changed.wait_while(stop.lock().unwrap(), |stop| !*stop));
            worker.spawn_scoped(scope, wait).unwrap();
        }
        changed.notify_one();
        *stop.lock().unwrap() = true;
        changed.notify_one();
    });
}

fn checker() -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .spurious_wakeups(false)
        .max_events(60)
}

/// Kind and message of the first failure, which its schedule leads to again.
fn found(program: fn()) -> (FailureKind, String) {
    let report = checker().run(program);
    let failure = report.failures.first().expect("a failure");
    let schedule: Schedule = failure.schedule.to_string().parse().unwrap();
    let again = checker().strategy(Strategy::Replay(schedule)).run(program);
    assert_eq!(again.failures[0].kind, failure.kind);
    assert_eq!(again.failures[0].message, failure.message);
    (failure.kind, failure.message.clone())
}

#[track_caller]
fn says(program: fn(), kind: FailureKind, lines: &[&str]) {
    let (found, message) = found(program);
    assert_eq!((found, message), (kind, lines.join("\n")));
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock_whoever_has_ended() {
    says(
        cycle_without_main,
        FailureKind::Deadlock,
        &[
            "left holds Mutex `locks.0` (since tests/tests/telling/stuck.rs:23), waits at \
             tests/tests/telling/stuck.rs:24 for Mutex `locks.1`, held by right",
            "right holds Mutex `locks.1` (since tests/tests/telling/stuck.rs:27), waits at \
             tests/tests/telling/stuck.rs:28 for Mutex `locks.0`, held by left",
        ],
    );
}

#[test]
fn threads_that_wait_for_each_other_beside_one_that_goes_on() {
    says(
        cycle_beside_a_loop,
        FailureKind::Deadlock,
        &[
            "main holds Mutex `lock` (since tests/tests/telling/stuck.rs:39), waits at \
             tests/tests/telling/stuck.rs:40 for Mutex `lock`, which it holds itself",
            "spinner only polls: load flag at tests/tests/telling/stuck.rs:36",
        ],
    );
}

#[test]
fn a_thread_that_waits_when_the_body_has_ended() {
    says(
        worker_without_work,
        FailureKind::ThreadOutlives,
        &[
            "worker waits at tests/tests/telling/stuck.rs:47 for a message from Channel",
            "the body of the check has ended, and no thread is left to wake it",
            "help: join it, or tell it to stop, before the body ends",
        ],
    );
    says(
        workers_without_work,
        FailureKind::ThreadOutlives,
        &[
            "one waits at tests/tests/telling/stuck.rs:56 for Condvar, which no thread will notify",
            "two waits at tests/tests/telling/stuck.rs:56 for Condvar, which no thread will notify",
            "the body of the check has ended, and no thread is left to wake them",
            "help: join them, or tell them to stop, before the body ends",
        ],
    );
}

#[test]
fn a_notification_before_the_lock_was_taken() {
    says(
        waits_without_looking,
        FailureKind::LostWakeup,
        &[
            "waiter waits at tests/tests/telling/stuck.rs:67 for Condvar, which no thread will notify",
            "main notified Condvar at tests/tests/telling/stuck.rs:70, before waiter waited",
            "main waits at tests/tests/telling/stuck.rs:71 for waiter to end",
            "help: check the condition under the lock, and wait only if it does not hold",
        ],
    );
}

#[test]
fn a_notification_that_woke_another() {
    let (kind, message) = found(stops_one_of_two);
    assert_eq!(kind, FailureKind::Deadlock, "{message}");
    let said = |woken: &str, waits: &str| {
        let at = |line: u32| format!("tests/tests/telling/stuck.rs:{line}");
        let (end, wait, notified) = (at(226), at(229), at(234));
        [
            format!("main waits at {end} for {waits} to end"),
            format!(
                "{waits} waits at {wait} for Condvar `changed`, which no thread will notify"
            ),
            format!(
                "main notified Condvar `changed` at {notified}, while {waits} waited, and woke {woken}"
            ),
            "help: that wakes only one waiting thread; if others can go on as well, notify all of them, or \
             once for each"
                .to_owned(),
        ]
        .join("\n")
    };
    // Either may be woken.
    assert!(
        [said("one", "two"), said("two", "one")].contains(&message),
        "{message}"
    );
}

#[test]
fn a_notification_between_the_look_and_the_wait() {
    says(
        changes_without_the_lock,
        FailureKind::LostWakeup,
        &[
            "waiter waits at tests/tests/telling/stuck.rs:82 for Condvar, which no thread will notify",
            "main notified Condvar at tests/tests/telling/stuck.rs:86, while waiter had Mutex, taken at \
             tests/tests/telling/stuck.rs:80, and had not begun to wait",
            "main waits at tests/tests/telling/stuck.rs:87 for waiter to end",
            "help: change the condition under Mutex, and notify after that",
        ],
    );
}

#[test]
fn a_signal_before_anybody_waited() {
    says(
        signals_nobody,
        FailureKind::LostWakeup,
        &[
            "waiter waits at tests/tests/telling/stuck.rs:97 for Monitor `monitor`",
            "main signalled Monitor `monitor` at tests/tests/telling/stuck.rs:101, before waiter waited",
            "main waits at tests/tests/telling/stuck.rs:103 for waiter to end",
            "help: check the condition under the lock, and wait only if it does not hold",
        ],
    );
}

#[test]
fn two_tokens_that_were_one() {
    says(
        unparked_twice,
        FailureKind::LostWakeup,
        &[
            "main waits at tests/tests/telling/stuck.rs:114 for an unpark",
            "helper unparked main at tests/tests/telling/stuck.rs:111, when an earlier unpark had not been \
             used up",
            "help: two unparks before a park count as one: check the condition before parking \
             again",
        ],
    );
}

#[test]
fn a_notification_that_nobody_needed_is_not_lost() {
    says(
        too_few_items,
        FailureKind::Deadlock,
        &[
            "main waits at tests/tests/telling/stuck.rs:131 for first to end",
            "first waits at tests/tests/telling/stuck.rs:124 for Condvar, which no thread will notify",
        ],
    );
}

#[test]
fn a_wait_for_more_notifications_than_there_are_is_a_deadlock() {
    says(
        waits_for_more_than_is_sent,
        FailureKind::Deadlock,
        &[
            "main waits at tests/tests/telling/stuck.rs:149 for main.1 to end",
            "main.1 waits at tests/tests/telling/stuck.rs:154 for Condvar `changed`, which no thread will \
             notify",
        ],
    );
}

#[test]
fn a_notification_of_another_condvar_is_not_lost() {
    says(
        notifies_the_other_one,
        FailureKind::Deadlock,
        &[
            "main waits at tests/tests/telling/stuck.rs:165 for main.1 to end",
            "main.1 waits at tests/tests/telling/stuck.rs:166 for Condvar `filled`, which no thread will \
             notify",
        ],
    );
}

#[test]
fn a_notification_of_what_the_waiter_has_seen_is_not_lost() {
    says(
        one_is_not_enough,
        FailureKind::Deadlock,
        &[
            "main waits at tests/tests/telling/stuck.rs:175 for main.1 to end",
            "main.1 waits at tests/tests/telling/stuck.rs:178 for Condvar `changed`, which no thread will \
             notify",
        ],
    );
}

#[test]
fn a_notification_before_the_change() {
    says(
        notifies_too_early,
        FailureKind::LostWakeup,
        &[
            "main.1 waits at tests/tests/telling/stuck.rs:191 for Condvar `changed`, which no thread will \
             notify",
            "main notified Condvar `changed` at tests/tests/telling/stuck.rs:193, before main.1 waited, and \
             main took Mutex `ready` at tests/tests/telling/stuck.rs:194 after that",
            "main waits at tests/tests/telling/stuck.rs:188 for main.1 to end",
            "help: notify after the condition has changed, not before",
        ],
    );
}

#[test]
fn a_value_that_could_not_be_made() {
    says(
        lazily_never,
        FailureKind::Panic,
        &[
            "reader panicked at tests/tests/telling/stuck.rs:200:66:",
            "called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }",
            "and main panicked in turn at tests/tests/telling/stuck.rs:203, because LazyLock `LIMIT` is \
             poisoned",
        ],
    );
    says(
        once_and_never_again,
        FailureKind::Panic,
        &[
            "first panicked at tests/tests/telling/stuck.rs:210:28:",
            "cannot be done",
            "and main panicked in turn at tests/tests/telling/stuck.rs:213, because Once `once` is poisoned",
        ],
    );
    says(
        lazy_circle,
        FailureKind::Deadlock,
        &[
            "main holds LazyLock `FIRST` (since tests/tests/telling/stuck.rs:220) and LazyLock `SECOND` (since \
             tests/tests/telling/stuck.rs:218), waits at tests/tests/telling/stuck.rs:219 for LazyLock `FIRST`, \
             which it holds itself",
        ],
    );
}

#[test]
fn a_loop_that_waits_for_nobody_is_a_livelock() {
    says(
        waits_in_a_loop,
        FailureKind::Livelock,
        &[
            "main spins: load turn = 0 at tests/tests/telling/stuck.rs:142, which no thread has \
             changed",
            "waiter spins: load turn = 0 at tests/tests/telling/stuck.rs:138, which no thread has \
             changed",
            "help: no other thread is left to change that: it must be changed earlier, or the loop \
             must end in another way",
        ],
    );
}

#[test]
fn a_loop_that_changes_something_is_shown_when_it_is_too_long() {
    const HELP: &str = "help: if it must be so long, raise the limit with `max_events`; a loop \
                        that waits for another thread never ends while that thread is not \
                        scheduled";
    let line = line!() + 3;
    let report = checker().run(|| {
        let rounds = AtomicU32::new(0);
        while rounds.fetch_add(1, SeqCst) < 1_000 {}
    });
    let message = format!(
        "one execution has more than 60 events\n\
         main repeats: fetch-add rounds at tests/tests/telling/stuck.rs:{line}\n{HELP}"
    );
    assert_eq!(report.failures[0].message, message);
}

#[test]
fn a_long_execution_that_does_something_new_in_the_end_is_no_loop() {
    let report = checker().run(|| {
        let value = AtomicU32::new(0);
        (0..57).for_each(|_| value.store(1, SeqCst));
        value.load(SeqCst);
        value.swap(2, SeqCst);
        value.load(SeqCst);
    });
    // The limit is reached after the first load and the swap.
    assert_eq!(report.failures[0].kind, FailureKind::TooLong);
    assert_eq!(report.failures[0].message.lines().count(), 2);
}
