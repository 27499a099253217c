//! Differences from shuttle, each as in the table of the book.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use shuttle::scheduler::{DfsScheduler, RandomScheduler, RoundRobinScheduler};
use shuttle::sync::atomic::{AtomicUsize, Ordering::*};
use shuttle::sync::{Condvar, Mutex, mpsc};
use shuttle::{Config, Runner, future, thread};

/// The results of all executions of a depth-first search, and of many random ones.
fn results<R, F>(body: F) -> [BTreeSet<R>; 2]
where
    R: Ord + Send + 'static,
    F: Fn() -> R + Send + Sync + 'static,
{
    let body = Arc::new(body);
    [true, false].map(|is_search| {
        let all = Arc::new(StdMutex::new(BTreeSet::new()));
        let (results, body) = (Arc::clone(&all), Arc::clone(&body));
        let test = move || {
            let result = body();
            results.lock().unwrap().insert(result);
        };
        match is_search {
            true => shuttle::check_dfs(test, None),
            false => shuttle::check_random_with_seed(test, 7, 3_000),
        }
        std::mem::take(&mut *all.lock().unwrap())
    })
}

/// Two increments under a lock have two classes, by which comes first, and many schedules.
#[test]
fn equivalent_schedules_are_run_once() {
    let executions = Runner::new(DfsScheduler::new(None, false), Config::new()).run(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
        thread.join().unwrap();
    });
    assert_eq!(executions, 2);
}

/// The number of operations depends on a value that raddle does not control, so the program behaves differently under
/// the same schedule. Every schedule is run then, and both values are seen.
#[test]
fn values_of_std_that_tasks_share_are_met_in_every_order() {
    let [seen, _] = results(|| {
        let turn = Arc::new(StdAtomicUsize::new(0));
        let other = Arc::clone(&turn);
        let lock = Arc::new(Mutex::new(()));
        let theirs = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            drop(theirs.lock());
            other.store(1, SeqCst);
            drop(theirs.lock());
        });
        drop(lock.lock());
        let found = turn.load(SeqCst);
        for _ in 0..found {
            drop(lock.lock());
        }
        thread.join().unwrap();
        found
    });
    assert_eq!(seen, [0, 1].into());
}

/// Store buffering with relaxed accesses: both may read the old values.
#[test]
fn orderings_mean_what_they_say() {
    let buffered = |order| {
        results(move || {
            let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (x2, y2) = (Arc::clone(&x), Arc::clone(&y));
            let thread = thread::spawn(move || {
                x2.store(1, order);
                let load = if order == Relaxed { Relaxed } else { SeqCst };
                y2.load(load)
            });
            y.store(1, order);
            let load = if order == Relaxed { Relaxed } else { SeqCst };
            let read = x.load(load);
            (read, thread.join().unwrap())
        })
    };
    let both = (0, 0);
    assert_eq!(
        buffered(Relaxed).map(|seen| seen.contains(&both)),
        [false, true]
    );
    assert_eq!(
        buffered(SeqCst).map(|seen| seen.contains(&both)),
        [false, false]
    );
}

#[test]
fn a_weak_compare_exchange_may_fail_spuriously() {
    let exchanged = results(|| {
        let atomic = AtomicUsize::new(0);
        atomic.compare_exchange_weak(0, 1, AcqRel, Acquire).is_ok()
    });
    assert_eq!(exchanged, [[true].into(), [false, true].into()]);
}

#[test]
fn waits_may_end_without_a_notification_and_time_out() {
    let waits = results(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = shared.0.lock().unwrap();
        let mut waits = 0;
        while !*ready {
            ready = shared.1.wait(ready).unwrap();
            waits += 1;
        }
        drop(ready);
        thread.join().unwrap();
        waits
    });
    assert_eq!(waits, [[0, 1].into(), [0, 1, 2].into()]);
    let received = results(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1));
        let received = receiver.recv_timeout(Duration::from_secs(1)).is_ok();
        let _ = thread.join().unwrap();
        received
    });
    assert_eq!(received, [[true].into(), [false, true].into()]);
}

/// Schedulers of shuttle's own kind choose tasks only.
#[test]
fn other_schedulers_have_nothing_spurious() {
    Runner::new(RoundRobinScheduler::new(3), Config::new()).run(|| {
        let atomic = AtomicUsize::new(0);
        assert!(atomic.compare_exchange_weak(0, 1, AcqRel, Acquire).is_ok());
    });
}

#[test]
fn values_outside_a_test_behave_as_in_std() {
    let lock = Mutex::new(1);
    *lock.lock().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 2);
    assert_eq!(future::block_on(future::spawn(async { 3 })).unwrap(), 3);
}

/// Returns the failure of a random check.
fn failure(test: impl Fn() + Send + Sync + 'static) -> Box<dyn Any + Send> {
    let run = || Runner::new(RandomScheduler::new_from_seed(7, 100), Config::new()).run(test);
    catch_unwind(AssertUnwindSafe(run)).expect_err("the test fails")
}

/// A panic of the program is raised as it was, and the story is on standard error. Other failures are the story.
#[test]
fn a_failure_has_the_story_and_the_schedule() {
    const VARIABLE: &str = "RADDLE_SHUTTLE_TEST_FAILS";
    if std::env::var_os(VARIABLE).is_some() {
        assert_eq!(failure(|| panic!("oh no")).downcast_ref(), Some(&"oh no"));
        let number = 3;
        let panic = failure(move || panic!("oh {number}"));
        assert_eq!(panic.downcast_ref(), Some(&"oh 3".to_owned()));
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "a_failure_has_the_story_and_the_schedule";
    child.args([name, "--exact", "--nocapture"]);
    let output = child.env(VARIABLE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("main panicked at"), "{text}");
    assert_eq!(text.matches("\nfailing schedule:\n").count(), 2, "{text}");

    let deadlock = failure(|| {
        let lock = Mutex::new(());
        let _guards = (lock.lock(), lock.lock());
    });
    let text = deadlock.downcast::<String>().unwrap();
    let words = "main tried to acquire a Mutex it already holds\ndeadlock after 1 execution";
    assert!(text.starts_with(words), "{text}");
    assert!(text.contains("\nfailing schedule:\n"), "{text}");
}

/// Of two threads that park once each, either may return without the token. A search has both cases, and still finds
/// the deadlock.
#[test]
fn park_may_return_without_the_token_in_a_search() {
    let [tokens, _] = results(|| {
        let token = Arc::new(AtomicUsize::new(0));
        let given = Arc::clone(&token);
        let thread = thread::spawn(move || {
            thread::park();
            given.load(SeqCst)
        });
        token.store(1, SeqCst);
        thread.thread().unpark();
        thread.join().unwrap()
    });
    assert_eq!(tokens, [0, 1].into());
    let waits = || thread::spawn(thread::park).join().unwrap();
    let panic = catch_unwind(|| shuttle::check_dfs(waits, None)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("deadlock"));
}

/// Tasks meet in a value of std's, whose order of uses decides how the program goes on. Every order of the tasks is run,
/// with the steps that shuttle has: each operation of raddle's as a step would be too many to end.
#[test]
fn tasks_meet_values_of_std_in_every_order() {
    let [seen, _] = results(|| {
        let (lock, order) = (
            Arc::new(Mutex::new(())),
            Arc::new(StdMutex::new(Vec::new())),
        );
        let tasks = [0, 1, 2].map(|task| {
            let order = Arc::clone(&order);
            let lock = Arc::clone(&lock);
            future::spawn(async move {
                drop(lock.lock());
                order.lock().unwrap().push(task);
                drop(lock.lock());
            })
        });
        for task in tasks {
            future::block_on(task).unwrap();
        }
        let order = order.lock().unwrap().clone();
        for _ in 0..order[0] {
            drop(lock.lock());
        }
        order
    });
    assert_eq!(seen.len(), 6, "{seen:?}");
}
