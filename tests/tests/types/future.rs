//! Futures on a thread: who is woken, which wake-ups are lost, and how often a future is polled.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Mutex as StdMutex;
use std::task::{Poll, Waker};

use raddle::future::{AtomicWaker, block_on, spawn, spawn_local, yield_now};
use raddle::sync::atomic::{AtomicBool, Ordering::*};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::compare::behaviour;

/// A future that another thread makes ready; returns the number of polls.
fn polls_until_ready(register_first: bool) -> usize {
    let shared = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        other.0.store(true, Release);
        other.1.wake();
    });
    let mut polls = 0;
    block_on(poll_fn(|context| {
        polls += 1;
        if register_first {
            shared.1.register_by_ref(context.waker());
        }
        if shared.0.load(Acquire) {
            return Poll::Ready(());
        }
        if !register_first {
            shared.1.register(context.waker().clone());
        }
        Poll::Pending
    }));
    thread.join().unwrap();
    polls
}

#[test]
fn a_future_is_polled_at_the_first_call_when_woken_and_once_spuriously() {
    let seen = behaviour(&Checker::new(), || polls_until_ready(true));
    assert_eq!((seen.kinds(), seen.outcomes), (vec![], [1, 2, 3].into()));
    let exact = Checker::new().spurious_wakeups(false);
    let seen = behaviour(&exact, || polls_until_ready(true));
    assert_eq!((seen.kinds(), seen.outcomes), (vec![], [1, 2].into()));
}

#[test]
fn a_waker_that_is_registered_too_late_is_a_failure() {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(|| _ = polls_until_ready(false));
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::LostWakeup);
    let text = failure.to_string();
    let wait = "for a wake-up of core::future::poll_fn::PollFn\n  no thread calls its waker\n";
    assert!(text.contains(wait), "{text}");
}

#[test]
fn a_future_that_is_never_woken_is_a_lost_wake_up() {
    let report = Checker::new().run(|| block_on(std::future::pending()));
    assert_eq!(report.failures[0].kind, FailureKind::LostWakeup);
    let text = report.failures[0].to_string();
    let line = "  main waits at tests/tests/types/future.rs:62 for a wake-up of core::future::pending::Pending\n";
    assert!(text.contains(line), "{text}");
}

#[raddle::test]
async fn a_test_may_be_async() {
    assert_eq!(spawn(async { 3 }).await.unwrap(), 3);
}

#[raddle::test(strategy = "exhaustive", seed = 7)]
async fn an_async_test_may_have_a_result_and_options() -> Result<(), raddle::future::JoinError> {
    let task = spawn(async { 3 });
    assert_eq!(task.await?, 3);
    Ok(())
}

#[test]
fn yielding_is_one_wake_up_and_costs_no_class() {
    let seen = behaviour(&Checker::new().spurious_wakeups(false), || {
        block_on(async {
            yield_now().await;
            yield_now().await;
            7
        })
    });
    assert_eq!((seen.classes, seen.outcomes), (1, [7].into()));
}

#[test]
fn a_woken_thread_has_the_writes_before_the_wake_up() {
    /// The waker is handed over by a lock; the value is published by the wake-up alone.
    fn body() -> u32 {
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let other = Arc::clone(&waker);
        let value = Arc::new(raddle::sync::atomic::AtomicU32::new(0));
        let written = Arc::clone(&value);
        let thread = thread::spawn(move || {
            let Some(waker) = other.lock().unwrap().take() else {
                return false;
            };
            written.store(1, Relaxed);
            waker.wake();
            true
        });
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            *waker.lock().unwrap() = Some(context.waker().clone());
            // The other thread may have ended already.
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        let woken = thread.join().unwrap();
        assert_eq!(value.load(Relaxed), u32::from(woken));
        value.load(Relaxed)
    }
    let seen = behaviour(&Checker::new(), body);
    assert_eq!((seen.kinds(), seen.outcomes), (vec![], [0, 1].into()));
}

#[test]
fn outside_checks_they_work_with_threads_of_the_system() {
    let order = StdMutex::new(Vec::new());
    let polls = polls_until_ready(true);
    assert!(polls >= 1);
    block_on(async {
        order.lock().unwrap().push(1);
        yield_now().await;
        order.lock().unwrap().push(2);
    });
    assert_eq!(*order.lock().unwrap(), [1, 2]);
    let waker = AtomicWaker::default();
    waker.wake();
    assert!(waker.take_waker().is_none());
}

/// A task that increments a counter before and after it yields, and is aborted: its result, and the counter.
fn aborted() -> (Option<u32>, u32) {
    let counter = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&counter);
    let result = block_on(async {
        let task = spawn(async move {
            *shared.lock().unwrap() += 1;
            yield_now().await;
            *shared.lock().unwrap() += 1;
            7
        });
        task.abort();
        task.await.ok()
    });
    let count = *counter.lock().unwrap();
    (result, count)
}

/// The abort takes effect before the first poll, between the polls, or not at all.
#[test]
fn an_abort_takes_effect_at_each_place_where_the_task_waits() {
    let all = [(None, 0), (None, 1), (Some(7), 2)];
    let seen = behaviour(&Checker::new(), aborted);
    assert_eq!((seen.kinds(), seen.outcomes), (vec![], all.into()));
    // Every schedule, without the reduction.
    let outcomes = StdMutex::new(BTreeSet::new());
    let schedules = Checker::new()
        .strategy(Strategy::Enumerate)
        .spurious_wakeups(false);
    let report = schedules.run(|| _ = outcomes.lock().unwrap().insert(aborted()));
    report.assert_ok();
    assert_eq!(outcomes.into_inner().unwrap(), all.into());
}

#[test]
fn a_task_that_is_left_is_dropped_when_block_on_returns() {
    let drops = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct Counts(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let dropped = Arc::clone(&drops);
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(move || {
        let counts = Counts(Arc::clone(&dropped));
        block_on(async {
            spawn(async move {
                let _counts = counts;
                std::future::pending::<()>().await;
            })
            .detach();
        });
    });
    report.assert_ok();
    assert_eq!(drops.load(SeqCst) as u64, report.runs());
}

#[test]
fn a_task_outside_block_on_that_waits_for_ever_is_a_failure() {
    let report = Checker::new().run(|| spawn(std::future::pending::<()>()).detach());
    assert_eq!(report.failures[0].kind, FailureKind::ThreadOutlives);
}

/// Two tasks wait for each other's lock, across an `.await`.
#[test]
fn tasks_deadlock_as_threads_do() {
    let both = |first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second) = (Arc::clone(first), Arc::clone(second));
        spawn_local(async move {
            let _first = first.lock().unwrap();
            yield_now().await;
            let _second = second.lock().unwrap();
        })
    };
    let report = Checker::new().run(move || {
        let (one, two) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        block_on(async {
            let tasks = [both(&one, &two), both(&two, &one)];
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
}

/// A panic that the awaiting task looks at is no failure; one that is detached is.
#[test]
fn a_panic_of_a_task_is_an_error_of_its_handle() {
    let report = Checker::new().run(|| {
        let error = block_on(spawn(async { panic!("oh no") })).unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "oh no");
    });
    report.assert_ok();
    let report = Checker::new().run(|| spawn(async { panic!("oh no") }).detach());
    assert_eq!(report.failures[0].kind, FailureKind::Panic);
}

#[test]
fn outside_checks_tasks_run_and_are_aborted() {
    assert_eq!(block_on(async { spawn(async { 3 }).await.unwrap() }), 3);
    let aborted = block_on(async {
        let task = spawn(std::future::pending::<()>());
        assert!(!task.is_finished());
        task.abort_handle().abort();
        task.await.unwrap_err()
    });
    assert!(aborted.is_cancelled());
}
