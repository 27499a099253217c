//! Small questions that checkers are known to get wrong: is this behaviour missed, is that one
//! invented? Each is answered with the exact set of outcomes, worked out by hand and compared with
//! all schedules, and with the failure reported if one of them is what must not happen.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use raddle::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, Semaphore};
use raddle::{Checker, FailureKind, Strategy, hint, thread};
use raddle_tests::compare::behaviour;
use raddle_tests::exhaust;
use raddle_tests::programs::{join_all, run_threads};

/// Everything the program returns, and what is reported if it must not return what is `wrong`.
fn probe<T: Ord + Debug + Send>(
    checker: Checker,
    program: impl Fn() -> T + Send + Sync,
    wrong: impl Fn(&T) -> bool + Send + Sync,
) -> (BTreeSet<T>, Vec<FailureKind>) {
    let seen = behaviour(&checker, &program);
    let judged = behaviour(&checker, || {
        let outcome = program();
        assert!(!wrong(&outcome), "must not happen");
        outcome
    });
    for failure in &judged.report.failures {
        let known = failure.message.contains("must not happen");
        assert_eq!(known, failure.kind == FailureKind::Panic, "{failure}");
    }
    let right = seen.outcomes.iter().filter(|outcome| !wrong(outcome));
    assert!(right.eq(&judged.outcomes), "only those that are wrong fail");
    let kinds = judged.kinds();
    (seen.outcomes, kinds)
}

/// What two threads return, each shown the same two numbers, and what the numbers are at the end.
fn race<T: Send + 'static>(
    first: fn(&AtomicU32, &AtomicU32) -> T,
    second: fn(&AtomicU32, &AtomicU32) -> T,
) -> (T, T, [u32; 2]) {
    let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || first(&other[0], &other[1]));
    let second = second(&shared[0], &shared[1]);
    let first = thread.join().unwrap();
    (
        first,
        second,
        [0, 1].map(|index| shared[index].load(SeqCst)),
    )
}

#[test]
fn a_load_may_see_a_store_that_comes_after_another_load() {
    let load_and_store = || {
        race(
            |x, _| (x.load(SeqCst), x.store(1, SeqCst)).0,
            |x, _| (x.load(SeqCst), x.store(2, SeqCst)).0,
        )
    };
    let (outcomes, kinds) = probe(Checker::new(), load_and_store, |seen| seen.0 == 2);
    // One after the other, or both load before either stores.
    let sequential = [(0, 1, [2, 0]), (2, 0, [1, 0])];
    let overlapping = [(0, 0, [1, 0]), (0, 0, [2, 0])];
    let expected = sequential.into_iter().chain(overlapping);
    assert_eq!(outcomes, expected.collect());
    assert_eq!(kinds, [FailureKind::Panic]);
}

/// Store buffering: each thread stores to one and loads the other, so that one of them at least
/// sees the other's store.
fn store_buffering(program: impl Fn() -> (u32, u32, [u32; 2]) + Send + Sync) {
    let neither = |&(first, second, _): &(u32, u32, _)| (first, second) == (0, 0);
    let (outcomes, kinds) = probe(Checker::new(), program, neither);
    let expected = [(0, 1, [1, 1]), (1, 0, [1, 1]), (1, 1, [1, 1])];
    assert_eq!(outcomes, expected.into());
    assert_eq!(kinds, []);
}

#[test]
fn sequentially_consistent_accesses_are_not_buffered() {
    store_buffering(|| {
        race(
            |x, y| (x.store(1, SeqCst), y.load(SeqCst)).1,
            |x, y| (y.store(1, SeqCst), x.load(SeqCst)).1,
        )
    });
}

#[test]
fn accesses_with_a_sequentially_consistent_fence_between_them_are_not_buffered() {
    fn store_and_load(mine: &AtomicU32, other: &AtomicU32) -> u32 {
        mine.store(1, Relaxed);
        fence(Ordering::SeqCst);
        other.load(Relaxed)
    }
    store_buffering(|| race(store_and_load, |x, y| store_and_load(y, x)));
}

#[test]
fn a_message_passed_without_release_and_acquire_may_not_be_there() {
    let passed = |ordering: [Ordering; 2]| {
        move || {
            let shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let other = Arc::clone(&shared);
            let [release, acquire] = ordering;
            let thread = thread::spawn(move || {
                other[0].store(1, Relaxed);
                other[1].store(1, release);
            });
            let flag = shared[1].load(acquire);
            let message = shared[0].load(Relaxed);
            thread.join().unwrap();
            (flag, message)
        }
    };
    let lost = |&seen: &(u32, u32)| seen == (1, 0);
    let (outcomes, kinds) = probe(Checker::new(), passed([Relaxed, Relaxed]), lost);
    assert_eq!(outcomes, [(0, 0), (0, 1), (1, 0), (1, 1)].into());
    assert_eq!(kinds, [FailureKind::Panic]);
    let right = passed([Ordering::Release, Ordering::Acquire]);
    let (outcomes, kinds) = probe(Checker::new(), right, lost);
    assert_eq!(outcomes, [(0, 0), (0, 1), (1, 1)].into());
    assert_eq!(kinds, []);
}

/// A cell that threads share without a word about who may use it when.
struct Shared(UnsafeCell<u32>);

// SAFETY: it is not, which is what the check is to find out.
unsafe impl Sync for Shared {}

#[test]
fn cells_that_two_threads_write_are_a_data_race() {
    let write = |is_locked: bool| {
        move || {
            let cell = Arc::new((Mutex::new(()), Shared(UnsafeCell::new(0))));
            run_threads(2, move |_| {
                let guard = is_locked.then(|| cell.0.lock().unwrap());
                // SAFETY: raddle reports the race before the pointer is used.
                cell.1.0.with_mut(|value| unsafe { *value += 1 });
                drop(guard);
            });
        }
    };
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.clone().run(write(false));
    let kinds: Vec<_> = report.failures.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FailureKind::DataRace]);
    let report = checker.run(write(true));
    report.assert_ok();
    assert_eq!((report.exhausted, report.classes()), (true, 2));
}

#[test]
fn trying_to_lock_twice_is_no_deadlock() {
    let alone = || {
        let lock = Mutex::new(());
        let first = lock.try_lock();
        let second = lock.try_lock().is_ok();
        let first_held = first.is_ok();
        drop(first);
        (first_held, second, lock.try_lock().is_ok())
    };
    let (outcomes, kinds) = probe(Checker::new(), alone, |_| false);
    assert_eq!(outcomes, [(true, false, true)].into());
    assert_eq!(kinds, []);
    // One after the other, or one while the other holds it.
    let together = || {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || other.try_lock().is_ok());
        let mine = lock.try_lock().is_ok();
        (mine, thread.join().unwrap())
    };
    let (outcomes, kinds) = probe(Checker::new(), together, |seen| *seen == (false, false));
    let expected = [(true, true), (true, false), (false, true)];
    assert_eq!(outcomes, expected.into());
    assert_eq!(kinds, []);
}

#[test]
fn a_weak_compare_exchange_fails_spuriously() {
    let exchange = || AtomicU32::new(0).compare_exchange_weak(0, 1, SeqCst, SeqCst);
    let (outcomes, kinds) = probe(Checker::new(), exchange, Result::is_err);
    assert_eq!(outcomes, [Ok(0), Err(0)].into());
    assert_eq!(kinds, [FailureKind::Panic]);
}

#[test]
fn notify_one_may_wake_the_later_waiter() {
    #[derive(Default)]
    struct Shared {
        /// Who waits and who was woken, in this order.
        order: Mutex<(Vec<u32>, Vec<u32>)>,
        woken: Condvar,
    }
    let program = || {
        let (shared, waiting) = (Arc::new(Shared::default()), Arc::new(Semaphore::new(0)));
        let threads = [1, 2].map(|number| {
            let (shared, waiting) = (Arc::clone(&shared), Arc::clone(&waiting));
            thread::spawn(move || {
                let mut order = shared.order.lock().unwrap();
                order.0.push(number);
                waiting.release();
                order = shared.woken.wait(order).unwrap();
                order.1.push(number);
                shared.woken.notify_one();
            })
        });
        waiting.acquire();
        waiting.acquire();
        // Both threads have released the semaphore under the lock, and the lock is free: both wait.
        let guard = shared.order.lock().unwrap();
        shared.woken.notify_one();
        drop(guard);
        join_all(threads);
        shared.order.lock().unwrap().clone()
    };
    let calm = Checker::new().spurious_wakeups(false);
    let (outcomes, kinds) = probe(calm, program, |(waiting, woken)| waiting != woken);
    let orders = [vec![1, 2], vec![2, 1]];
    let pairs = |first: &Vec<u32>| orders.clone().map(|second| (first.clone(), second));
    assert_eq!(outcomes, orders.iter().flat_map(pairs).collect());
    assert_eq!(kinds, [FailureKind::Panic]);
}

#[test]
fn a_wait_may_end_without_a_notification() {
    let looks_once = || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = shared.0.lock().unwrap();
        if !*ready {
            ready = shared.1.wait(ready).unwrap();
        }
        let seen = *ready;
        drop(ready);
        thread.join().unwrap();
        seen
    };
    let (outcomes, kinds) = probe(Checker::new(), looks_once, |ready| !ready);
    assert_eq!(outcomes, [false, true].into());
    assert_eq!(kinds, [FailureKind::Panic]);
    // Without a notification, a spurious wake-up is all that can end the wait.
    let nobody = || drop(Condvar::new().wait(Mutex::new(()).lock().unwrap()).unwrap());
    let (outcomes, kinds) = probe(Checker::new(), nobody, |()| false);
    assert_eq!(outcomes, [()].into());
    assert_eq!(kinds, [FailureKind::Deadlock]);
}

#[test]
fn a_wait_with_a_timeout_that_nobody_notifies_ends() {
    let program = || {
        let lock = Mutex::new(());
        let guard = lock.lock().unwrap();
        let waited = Condvar::new().wait_timeout(guard, Duration::from_secs(1000));
        waited.unwrap().1.timed_out()
    };
    let calm = Checker::new().spurious_wakeups(false);
    let (outcomes, kinds) = probe(calm, program, |timed_out| !timed_out);
    assert_eq!(outcomes, [true].into());
    assert_eq!(kinds, []);
    let (outcomes, kinds) = probe(Checker::new(), program, |_| false);
    assert_eq!(outcomes, [false, true].into(), "it may wake up before");
    assert_eq!(kinds, []);
}

/// Runs a thread that spins until another has stored.
fn spin(between: fn()) {
    let program = move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(7, SeqCst);
            other.0.store(true, SeqCst);
        });
        while !shared.0.load(SeqCst) {
            between();
        }
        let seen = shared.1.load(SeqCst);
        thread.join().unwrap();
        seen
    };
    let (outcomes, kinds) = probe(Checker::new(), program, |_| false);
    assert_eq!(outcomes, [7].into());
    assert_eq!(kinds, []);
}

#[test]
fn a_spin_loop_without_a_yield_ends() {
    spin(|| {});
}

#[test]
fn a_spin_loop_with_a_yield_ends() {
    spin(thread::yield_now);
    spin(hint::spin_loop);
}

#[test]
fn six_threads_come_in_every_order() {
    let outcomes = StdMutex::new(BTreeSet::new());
    let report = exhaust(|| {
        let tickets = Arc::new(StdMutex::new([0; 6]));
        let (next, shared) = (AtomicU32::new(0), Arc::clone(&tickets));
        run_threads(6, move |number| {
            let ticket = next.fetch_add(1, SeqCst);
            shared.lock().unwrap()[number] = ticket;
        });
        outcomes.lock().unwrap().insert(*tickets.lock().unwrap());
    });
    report.assert_ok();
    assert_eq!(report.classes(), 720, "6!");
    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes.len(), 720);
    let sorted = |mut tickets: [u32; 6]| {
        tickets.sort_unstable();
        tickets
    };
    assert!(
        outcomes
            .into_iter()
            .all(|tickets| sorted(tickets) == [0, 1, 2, 3, 4, 5])
    );
}

#[test]
fn a_program_that_is_not_under_control_is_named_as_such() {
    let runs = std::sync::atomic::AtomicU32::new(0);
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let turn = runs.fetch_add(1, SeqCst);
        let one_more = move |x: &AtomicU32| {
            x.fetch_add(1, SeqCst);
            if turn % 2 == 1 {
                x.fetch_add(1, SeqCst);
            }
        };
        let number = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&number);
        let thread = thread::spawn(move || one_more(&other));
        one_more(&number);
        thread.join().unwrap();
    });
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!(kinds, [FailureKind::Nondeterminism]);
}

#[test]
fn locks_in_both_orders_but_never_at_once_are_warned_of() {
    let report = exhaust(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        for in_order in [true, false] {
            let locks = Arc::clone(&locks);
            let (first, second) = if in_order { (0, 1) } else { (1, 0) };
            let thread = thread::spawn(move || {
                let locks = [&locks.0, &locks.1];
                let _outer = locks[first].lock().unwrap();
                let _inner = locks[second].lock().unwrap();
            });
            thread.join().unwrap();
        }
    });
    assert_eq!((report.classes(), report.failures.len()), (1, 0));
    let kinds: Vec<_> = report.warnings.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [FailureKind::LockOrder]);
}
