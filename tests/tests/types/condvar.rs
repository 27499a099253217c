//! Condition variables: who is woken by what, what may happen unasked, and parity with std outside
//! a check.
//!
//! A class is told by the order in which the operations on every object are completed, and by their
//! outcomes. In the comments below, on the condition variable: `wait` is a thread becoming a waiter,
//! `wait*` one that wakes up spuriously, `wake` the end of a wait, `one` and `all` notifications.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use raddle::sync::{Arc, Condvar, Mutex, PoisonError};
use raddle::thread;
use raddle::{Checker, FailureKind, Report, Strategy};
use raddle_tests::compare::behaviour;
use raddle_tests::parity::text;
use raddle_tests::programs::run_threads;
use raddle_tests::same;
use raddle_tests::{exhaust, exhaust_undisturbed, exhaust_with, outcomes};

const LONG: Duration = Duration::from_secs(1000);

fn disturbed(program: &(dyn Fn() + Send + Sync)) -> Report {
    exhaust(program)
}

fn undisturbed(program: &(dyn Fn() + Send + Sync)) -> Report {
    exhaust_undisturbed(program)
}

/// Timeouts but no spurious wake-ups.
fn with_timeouts(program: &(dyn Fn() + Send + Sync)) -> Report {
    exhaust_with(Checker::new().spurious_wakeups(false), program)
}

fn kinds(report: &Report) -> Vec<FailureKind> {
    report.failures.iter().map(|failure| failure.kind).collect()
}

type Shared<T> = Arc<(Mutex<T>, Condvar)>;

fn shared<T>(value: T) -> Shared<T> {
    Arc::new((Mutex::new(value), Condvar::new()))
}

/// One thread waits without looking at anything, the other notifies.
fn wait_and_notify() {
    let shared = shared(());
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let guard = other.0.lock().unwrap();
        drop(other.1.wait(guard).unwrap());
    });
    shared.1.notify_one();
    thread.join().unwrap();
}

#[test]
fn a_notification_before_the_wait_is_lost() {
    // wait one wake; one wait, and then nothing more.
    let report = exhaust_undisturbed(wait_and_notify);
    assert_eq!(kinds(&report), [FailureKind::LostWakeup]);
    assert_eq!(report.classes(), 2);
    let message = &report.failures[0].message;
    assert!(message.contains(" for Condvar"), "{message}");
}

#[test]
fn a_wake_up_that_may_happen_does_not_hide_that_a_notification_is_lost() {
    // As above; wait* one; one wait*.
    let report = exhaust(wait_and_notify);
    assert_eq!(kinds(&report), [FailureKind::LostWakeup]);
    assert_eq!(report.classes(), 4);
}

#[test]
fn a_wait_that_looks_first_and_again_loses_nothing() {
    let program = || {
        let shared = shared(false);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = shared.0.lock().unwrap();
        let guard = shared.1.wait_while(guard, |ready| !*ready).unwrap();
        assert!(*guard);
        drop(guard);
        thread.join().unwrap();
    };
    // The producer locks first: one. It locks second: wait one wake.
    let (_, classes) = outcomes(undisturbed, program);
    assert_eq!(classes, 2);
    // And when the consumer wakes up spuriously: it locks again after the producer, and then wait*
    // one; or before it, and then wait* wait one wake, for it wakes up like that only once. In the
    // first case the notification, which needs no lock, comes after wait* as well.
    let (_, classes) = outcomes(disturbed, program);
    assert_eq!(classes, 4);
}

/// The consumer does not look again after it has waited.
fn if_instead_of_while() {
    let shared = shared(false);
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let mut guard = other.0.lock().unwrap_or_else(PoisonError::into_inner);
        *guard = true;
        other.1.notify_one();
    });
    let mut guard = shared.0.lock().unwrap();
    if !*guard {
        guard = shared.1.wait(guard).unwrap();
    }
    assert!(*guard, "woken for nothing");
    drop(guard);
    thread.join().unwrap();
}

#[test]
fn looking_only_once_is_caught_by_a_spurious_wake_up() {
    // The producer locks first: one. It locks second: wait one wake.
    let report = exhaust_undisturbed(if_instead_of_while);
    report.assert_ok();
    assert_eq!(report.classes(), 2);
    // And wait* one, where the consumer locks again after the producer, or before it and fails.
    let report = exhaust(if_instead_of_while);
    assert_eq!(kinds(&report), [FailureKind::Panic]);
    assert_eq!(report.classes(), 4);
    let failure = &report.failures[0];
    assert!(failure.message.contains("woken for nothing"), "{failure}");
    let waits: Vec<_> = (failure.trace.steps.iter())
        .map(|step| step.what.as_str())
        .filter(|what| what.contains("Condvar"))
        .collect();
    assert_eq!(waits[0], "wait Condvar (wakes up spuriously)");
    let replayed = Checker::new()
        .strategy(Strategy::Replay(failure.schedule.clone()))
        .run(if_instead_of_while);
    assert_eq!(replayed.failures[0].message, failure.message);
}

#[test]
fn a_random_walk_meets_spurious_wake_ups_too() {
    let report = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(1000)
        .run(if_instead_of_while);
    assert_eq!(kinds(&report), [FailureKind::Panic]);
}

#[test]
fn every_thread_wakes_up_spuriously_once_at_most() {
    let count_wakeups = || {
        let woken = Arc::new(StdMutex::new([0, 0]));
        let (shared, count) = (shared(false), Arc::clone(&woken));
        let others = Arc::clone(&shared);
        let threads = thread::spawn(move || {
            run_threads(2, move |number| {
                let mut guard = others.0.lock().unwrap();
                while !*guard {
                    guard = others.1.wait(guard).unwrap();
                    count.lock().unwrap()[number] += u32::from(!*guard);
                }
            });
        });
        *shared.0.lock().unwrap() = true;
        shared.1.notify_all();
        threads.join().unwrap();
        *woken.lock().unwrap()
    };
    let (seen, _) = outcomes(disturbed, count_wakeups);
    assert_eq!(seen, BTreeSet::from([[0, 0], [0, 1], [1, 0], [1, 1]]));
    let (seen, _) = outcomes(undisturbed, count_wakeups);
    assert_eq!(seen, BTreeSet::from([[0, 0]]));
}

#[derive(Default)]
struct Order {
    came: Vec<usize>,
    went: Vec<usize>,
    closed: bool,
}

/// Two threads wait. When both do, `notify` is called: who came and who went in which order. When
/// main is too early for that, it sends the one that waits home, and the other does not wait.
fn two_waiters(notify: fn(&Condvar), pass_on: bool) -> Option<(Vec<usize>, Vec<usize>)> {
    let shared = shared(Order::default());
    let others = Arc::clone(&shared);
    let threads = thread::spawn(move || {
        run_threads(2, move |number| {
            let mut guard = others.0.lock().unwrap();
            if guard.closed {
                return;
            }
            guard.came.push(number);
            let mut guard = others.1.wait(guard).unwrap();
            guard.went.push(number);
            if pass_on {
                others.1.notify_one();
            }
        });
    });
    let mut guard = shared.0.lock().unwrap();
    guard.closed = guard.came.len() < 2;
    let too_early = guard.closed;
    if too_early {
        shared.1.notify_all();
    } else {
        notify(&shared.1);
    }
    drop(guard);
    threads.join().unwrap();
    let order = std::mem::take(&mut *shared.0.lock().unwrap());
    (!too_early).then_some((order.came, order.went))
}

/// Classes in which main is too early: it locks first, and the others in two orders; or second, and
/// then the other two do, one of which waited, for either of them.
const TOO_EARLY: u64 = 2 + 2 * 2;

fn all_orders() -> BTreeSet<Option<(Vec<usize>, Vec<usize>)>> {
    let both = [vec![0, 1], vec![1, 0]];
    let pairs = |came: &Vec<usize>| both.clone().map(|went| Some((came.clone(), went)));
    both.iter().flat_map(pairs).chain([None]).collect()
}

#[test]
fn notify_one_wakes_any_waiter() {
    let (seen, classes) = outcomes(undisturbed, || two_waiters(Condvar::notify_one, true));
    assert_eq!(seen, all_orders());
    // Two orders to come, and either waiter is notified; it notifies the other, whose notification
    // wakes no thread: wait wait one wake one wake one.
    assert_eq!(classes, TOO_EARLY + 2 * 2);
}

#[test]
fn notify_one_wakes_no_more_than_one() {
    let report = exhaust_undisturbed(|| {
        let order = two_waiters(Condvar::notify_one, false);
        assert_eq!(order, None, "one of them must wait for ever");
    });
    assert!(!report.failures.is_empty());
    assert!((kinds(&report).iter()).all(|&kind| kind == FailureKind::Deadlock));
    // Two orders to come, and either waiter is notified.
    assert_eq!(report.classes(), TOO_EARLY + 2 * 2);
}

#[test]
fn notify_all_wakes_both() {
    let (seen, classes) = outcomes(undisturbed, || two_waiters(Condvar::notify_all, false));
    assert_eq!(seen, all_orders());
    // Two orders to come, two orders to take the lock again; the order in which they wake up before
    // that makes no other class.
    assert_eq!(classes, TOO_EARLY + 2 * 2);
}

fn wait_with_timeout() -> bool {
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    let guard = lock.lock().unwrap();
    let (_guard, result) = condition.wait_timeout(guard, LONG).unwrap();
    result.timed_out()
}

#[test]
fn a_wait_with_a_timeout_ends_without_a_notification() {
    // wait wake.
    let seen = outcomes(with_timeouts, wait_with_timeout);
    assert_eq!(seen, (BTreeSet::from([true]), 1));
    // And wait*.
    let seen = outcomes(disturbed, wait_with_timeout);
    assert_eq!(seen, (BTreeSet::from([false, true]), 2));
    // Where no time runs out, it is an ordinary wait.
    let report = exhaust_undisturbed(|| {
        wait_with_timeout();
    });
    assert_eq!(kinds(&report), [FailureKind::Deadlock]);
}

#[test]
fn a_wait_with_a_timeout_may_be_notified_in_time_or_not() {
    let (seen, classes) = outcomes(with_timeouts, || {
        let shared = shared(());
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.1.notify_one());
        let guard = shared.0.lock().unwrap();
        let (guard, result) = shared.1.wait_timeout(guard, LONG).unwrap();
        drop(guard);
        thread.join().unwrap();
        result.timed_out()
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
    // wait one wake, in time; one wait wake and wait wake one, too early and too late.
    assert_eq!(classes, 3);
}

#[test]
fn waiting_for_a_condition_with_a_timeout_tells_whether_it_came_true() {
    let (seen, _) = outcomes(disturbed, || {
        let shared = shared(0);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                *other.0.lock().unwrap() += 1;
                other.1.notify_one();
            }
        });
        let guard = shared.0.lock().unwrap();
        let waited = (shared.1).wait_timeout_while(guard, LONG, |count| *count < 2);
        let (guard, result) = waited.unwrap();
        let seen = (result.timed_out(), *guard);
        drop(guard);
        thread.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(false, 2), (true, 0), (true, 1)]));
}

#[test]
fn a_wait_returns_the_poison_it_finds() {
    exhaust(|| {
        let shared = shared(false);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut guard = other.0.lock().unwrap();
            *guard = true;
            other.1.notify_all();
            panic!("with the lock");
        });
        let poisoned = match shared.0.lock() {
            Ok(guard) => shared.1.wait_while(guard, |ready| !*ready),
            poisoned => poisoned,
        };
        let guard = poisoned
            .expect_err("the other thread panicked")
            .into_inner();
        assert!(*guard);
        drop(guard);
        assert!(thread.join().is_err());
    })
    .assert_ok();
}

#[test]
fn waiting_while_unwinding_poisons_as_in_std() {
    struct WaitInDrop<'a>(Option<raddle::sync::MutexGuard<'a, ()>>, &'a Condvar);
    impl Drop for WaitInDrop<'_> {
        fn drop(&mut self) {
            let guard = self.0.take().expect("dropped once");
            let (_guard, _) = self.1.wait_timeout(guard, Duration::ZERO).unwrap();
        }
    }
    let program = || {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let body = || {
            let _wait = WaitInDrop(Some(lock.lock().unwrap()), &condition);
            panic!("unwinds");
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err());
        lock.is_poisoned()
    };
    assert!(program(), "outside a check");
    assert_eq!(outcomes(disturbed, program).0, BTreeSet::from([true]));
}

/// A queue for one item, with one condition variable for both sides.
struct Queue {
    item: Mutex<Option<u32>>,
    changed: Condvar,
    /// How a side waits while it cannot go on.
    looks_again: bool,
    notify: fn(&Condvar),
}

impl Queue {
    /// Waits for the slot to be full or not, and changes it.
    fn exchange<R>(&self, full: bool, change: impl FnOnce(&mut Option<u32>) -> R) -> R {
        let mut item = self.item.lock().unwrap_or_else(PoisonError::into_inner);
        while item.is_some() != full {
            item = (self.changed.wait(item)).unwrap_or_else(PoisonError::into_inner);
            if !self.looks_again {
                break;
            }
        }
        let result = change(&mut item);
        (self.notify)(&self.changed);
        result
    }

    /// One thread puts two items, two threads take one each.
    fn run(looks_again: bool, notify: fn(&Condvar)) {
        let queue = Arc::new(Queue {
            item: Mutex::new(None),
            changed: Condvar::new(),
            looks_again,
            notify,
        });
        run_threads(3, move |number| match number {
            0 => (1..3).for_each(|item| {
                let replaced = queue.exchange(false, |slot| slot.replace(item));
                assert_eq!(replaced, None, "an item was lost");
            }),
            _ => {
                let item = queue.exchange(true, Option::take);
                assert_ne!(item, None, "there was nothing to take");
            }
        });
    }
}

#[test]
fn a_queue_that_does_not_look_again_takes_what_another_has_taken() {
    let report = exhaust_undisturbed(|| Queue::run(false, Condvar::notify_one));
    let messages: String = (report.failures.iter())
        .map(|failure| failure.message.as_str())
        .collect();
    assert!(messages.contains("there was nothing to take"), "{report}");
}

#[test]
fn a_queue_that_notifies_one_of_both_sides_gets_stuck() {
    // Both takers wait, the first item wakes one of them, the putter waits too, and the taker
    // wakes the other taker.
    for run in [undisturbed, disturbed] {
        let report = run(&|| Queue::run(true, Condvar::notify_one));
        assert!(!report.failures.is_empty());
        assert!((kinds(&report).iter()).all(|&kind| kind == FailureKind::Deadlock));
    }
}

#[test]
fn a_queue_that_looks_again_and_notifies_all_is_right() {
    exhaust_undisturbed(|| Queue::run(true, Condvar::notify_all)).assert_ok();
}

#[test]
fn threads_that_wait_for_ever_are_unwound() {
    struct Counts(Arc<StdMutex<u32>>);
    impl Drop for Counts {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let dropped = Arc::new(StdMutex::new(0));
    let count = Arc::clone(&dropped);
    let report = exhaust_undisturbed(move || {
        let shared = shared(());
        let (other, counts) = (Arc::clone(&shared), Counts(Arc::clone(&count)));
        thread::spawn(move || {
            let _counts = counts;
            let guard = other.0.lock().unwrap();
            drop(other.1.wait(guard));
        });
    });
    assert_eq!(kinds(&report), [FailureKind::ThreadOutlives]);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
    assert_eq!(*dropped.lock().unwrap(), report.executions as u32);
}

#[test]
fn a_destructor_that_waits_for_nobody_is_given_up() {
    struct WaitInDrop(Shared<()>);
    impl Drop for WaitInDrop {
        fn drop(&mut self) {
            let guard = self.0.0.lock().unwrap();
            drop(self.0.1.wait(guard));
        }
    }
    let report = exhaust_undisturbed(|| {
        let _wait = WaitInDrop(shared(()));
        let lock = Mutex::new(());
        let _held = lock.lock();
        drop(lock.lock());
    });
    assert_eq!(kinds(&report), [FailureKind::Deadlock]);
    let notes = report.failures[0].notes.concat();
    assert!(
        notes.starts_with("1 thread was left by dropping"),
        "{notes}"
    );
}

#[test]
#[allow(deprecated)]
fn outside_a_check_it_is_stds() {
    same!(|sync, thread| {
        static CONDITION: sync::Condvar = sync::Condvar::new();
        static LOCK: sync::Mutex<u32> = sync::Mutex::new(0);
        let mut results = vec![text(&CONDITION), text(sync::Condvar::default())];
        let short = Duration::from_millis(1);
        let (guard, result) = CONDITION.wait_timeout(LOCK.lock().unwrap(), short).unwrap();
        results.push(text((&guard, result, result.timed_out())));
        let (guard, notified) = CONDITION.wait_timeout_ms(guard, 1).unwrap();
        results.push(text((&guard, notified)));
        let waited = CONDITION.wait_timeout_while(guard, short, |value| *value == 0);
        let (guard, result) = waited.unwrap();
        results.push(text((&guard, result)));
        let waited = CONDITION.wait_timeout_while(guard, LONG, |value| *value == 1);
        let (guard, result) = waited.unwrap();
        results.push(text((&guard, result)));
        let other = thread::spawn(|| {
            let mut guard = LOCK.lock().unwrap();
            *guard = 1;
            CONDITION.notify_one();
            while *guard == 1 {
                guard = CONDITION.wait(guard).unwrap();
            }
            *guard = 3;
            CONDITION.notify_all();
            panic!("with the lock");
        });
        let mut guard = CONDITION.wait_while(guard, |value| *value == 0).unwrap();
        *guard = 2;
        CONDITION.notify_one();
        let waited = CONDITION.wait_while(guard, |value| *value == 2);
        results.push(text(waited.map_err(|error| *error.into_inner())));
        results.push(text(other.join().is_err()));
        let waited = CONDITION.wait_timeout(LOCK.lock().unwrap_err().into_inner(), short);
        results.push(text(waited.map_err(|error| error.into_inner().1)));
        results
    });
}

/// No thread notifies, and nothing else may wake it: the attribute's options reach the check.
#[raddle::test(spurious_wakeups = false, timeouts = false)]
#[should_panic(expected = "deadlock after 1 execution")]
fn a_wait_without_end_is_a_deadlock_when_nothing_may_disturb_it() {
    let (lock, condvar) = (Mutex::new(()), Condvar::new());
    let guard = lock.lock().unwrap();
    let wait = condvar.wait_timeout(guard, std::time::Duration::from_secs(1));
    drop(wait.unwrap());
}

/// The time may run out at every turn, but there is no point in waiting again when no other thread
/// ran in between.
#[test]
fn a_loop_of_timed_waits_has_an_end() {
    let program = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait_timeout(ready, Duration::ZERO).unwrap().0;
        }
        drop(ready);
        thread.join().unwrap();
    };
    for checker in [Checker::new(), Checker::new().timeouts(false)] {
        let seen = behaviour(&checker, program);
        assert_eq!(seen.kinds(), []);
    }
}
