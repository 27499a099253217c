//! Cases in which a check would not tell the truth, and says so instead; and settings that change it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use raddle::{Checker, FailureKind, Strategy};
use tokio::sync::{Mutex, Notify};

static SHARED: Mutex<u32> = Mutex::const_new(0);

/// The state of a static would go over from one execution to the next.
#[test]
fn a_static_is_refused() {
    let report = Checker::new().run(|| drop(raddle::future::block_on(SHARED.lock())));
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Panic);
    let text = failure.to_string();
    assert!(
        text.contains("was made outside the check that uses it"),
        "{text}"
    );
    assert!(text.contains("cargo raddle test --native"), "{text}");
}

#[test]
fn a_value_from_outside_is_refused() {
    let notify = Arc::new(Notify::new());
    let report = Checker::new().run(move || notify.notify_one());
    let text = report.failures[0].to_string();
    assert!(text.contains("the Notify made at"), "{text}");
}

/// The same values work outside checks, where a poll takes the lock of the static.
#[test]
fn outside_checks_statics_work() {
    let guard = SHARED.try_lock();
    let is_locked = guard.is_ok();
    drop(guard);
    assert!(is_locked);
}

/// Without time-outs a limit never passes, and a sleep still ends.
#[test]
fn time_limits_can_be_turned_off() {
    let checker = || {
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .timeouts(false)
    };
    let report = checker().run(|| {
        raddle::future::block_on(async {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let task = tokio::spawn(async move { sender.send(1) });
            let second = Duration::from_secs(1);
            tokio::time::sleep(second).await;
            let received = tokio::time::timeout(second, receiver).await;
            assert_eq!(received.expect("no limit passes"), Ok(1));
            task.await.unwrap().unwrap();
        });
    });
    report.assert_ok();
    assert!(report.exhausted);
}

/// A task that waits for two things is a deadlock with both, not a lost wake-up.
#[test]
fn a_task_that_waits_for_two_things_names_both() {
    let report = Checker::new().run(|| {
        raddle::future::block_on(async {
            let (first, second) = (Notify::new(), Notify::new());
            tokio::select! {
                () = first.notified() => {}
                () = second.notified() => {}
            }
        });
    });
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Deadlock);
    let text = failure.to_string();
    let both = text.contains("`first` to be notified") && text.contains("`second` to be notified");
    assert!(both, "{text}");
}

/// Errors, `join!` and `select!` use nothing of tokio's that a check would have to see.
#[test]
fn every_behaviour_is_claimed_with_errors_and_macros() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        raddle::future::block_on(async {
            let permits = Arc::new(tokio::sync::Semaphore::new(0));
            let closing = Arc::clone(&permits);
            let (sender, receiver) = tokio::sync::oneshot::channel::<u32>();
            let (watched, mut watching) = tokio::sync::watch::channel(0);
            let task = tokio::spawn(async move {
                drop((sender, watched));
                closing.close();
            });
            let lock = Mutex::new(0);
            let _held = lock.try_lock();
            assert!(lock.try_lock().is_err());
            let (first, second) = tokio::join!(receiver, watching.changed());
            assert!(first.is_err() && second.is_err());
            tokio::select! {
                permit = permits.acquire() => assert!(permit.is_err()),
                () = std::future::pending() => {}
            }
            task.await.unwrap();
        });
    });
    report.assert_ok();
    assert!(report.exhausted, "{report}");
    assert!(
        report.shared_locals().is_empty() && report.unclear_locals().is_empty(),
        "{report}"
    );
}

#[tokio::main]
async fn ordinary_program() -> u32 {
    let task = tokio::spawn(async { 4 });
    let (other, joined) = tokio::join!(async { 3 }, task);
    other + joined.unwrap()
}

#[test]
fn outside_checks_there_is_a_runtime_of_tokio() {
    assert_eq!(ordinary_program(), 7);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let task = runtime.spawn(std::future::pending::<()>());
    task.abort();
    assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    let outside = catch_unwind(AssertUnwindSafe(|| drop(tokio::spawn(async {}))));
    assert!(outside.is_err(), "there is no runtime here");
}

/// A runtime inside a check runs its tasks as modelled threads, and aborts those that are left.
#[test]
fn inside_a_check_a_runtime_is_modelled() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        drop(runtime.spawn(async move {
            *other.lock().await += 1;
            std::future::pending::<()>().await;
        }));
        let seen = runtime.block_on(async { *lock.lock().await });
        assert!(seen < 2);
        drop(runtime);
    });
    report.assert_ok();
    assert!(report.exhausted);
}
