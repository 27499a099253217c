//! The attribute, and the macros.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use raddle::{Checker, Strategy};
use tokio::sync::oneshot;

#[tokio::test]
async fn a_test_is_a_check() {
    assert!(in_a_check());
    assert_eq!(tokio::spawn(async { 3 }).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2, strategy = "exhaustive")]
async fn options_of_both_attributes_are_accepted() -> Result<(), tokio::task::JoinError> {
    assert!(in_a_check());
    assert_eq!(tokio::spawn(async { 3 }).await?, 3);
    Ok(())
}

#[tokio::test(uncontrolled, flavor = "multi_thread")]
async fn a_test_may_be_an_ordinary_one_of_tokio() {
    assert!(!in_a_check());
    assert_eq!(tokio::spawn(async { 3 }).await.unwrap(), 3);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let late = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>());
    assert_eq!(late.await.unwrap_err().to_string(), "deadline has elapsed");
}

fn in_a_check() -> bool {
    std::panic::catch_unwind(|| raddle::choose(0..1_u32)).is_ok()
}

/// Runs a body in all its classes; returns the outcomes.
fn outcomes<T: Ord + Send>(body: impl AsyncFn() -> T + Send + Sync) -> BTreeSet<T> {
    let seen = StdMutex::new(BTreeSet::new());
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(|| {
        let outcome = raddle::future::block_on(body());
        seen.lock().unwrap().insert(outcome);
    });
    report.assert_ok();
    assert!(report.exhausted);
    seen.into_inner().unwrap()
}

async fn ready(value: u32) -> u32 {
    value
}

#[test]
fn each_ready_branch_of_a_select_is_taken() {
    let three = async || {
        tokio::select! {
            value = ready(1) => value,
            value = ready(2) => { value }
            value = ready(3), if true => value,
        }
    };
    assert_eq!(outcomes(three), [1, 2, 3].into());
    let biased = async || {
        tokio::select! {
            biased;
            value = ready(1), if false => value,
            Some(value) = async { None::<u32> } => value,
            value = ready(3) => value,
            else => 4,
        }
    };
    assert_eq!(outcomes(biased), [3].into());
    let none = async || {
        tokio::select! {
            Some(value) = async { None::<u32> } => value,
            else => 4,
        }
    };
    assert_eq!(outcomes(none), [4].into());
    let joined = async || tokio::join!(ready(1), ready(2));
    assert_eq!(outcomes(joined), [(1, 2)].into());
}

/// A limit may pass before or after the other task has sent.
#[test]
fn a_time_limit_may_pass_or_not() {
    let limited = async || {
        let (sender, receiver) = oneshot::channel();
        let task = tokio::spawn(async move { sender.send(7).is_ok() });
        let received = tokio::time::timeout(Duration::from_secs(1), receiver).await;
        (received.ok().map(Result::unwrap), task.await.unwrap())
    };
    let all = [(None, false), (None, true), (Some(7), true)];
    assert_eq!(outcomes(limited), all.into());
}

/// The first tick comes at once, and each later one after a period.
#[test]
fn an_interval_ticks_at_regular_times() {
    let ticks = async || {
        let start = tokio::time::Instant::now();
        let mut interval = tokio::time::interval(Duration::from_secs(10));
        let mut times = Vec::new();
        for _ in 0..3 {
            times.push((interval.tick().await - start).as_secs());
        }
        (times, start.elapsed().as_secs())
    };
    assert_eq!(outcomes(ticks), [(vec![0, 10, 20], 20)].into());
}

/// Timers of one task fire in the order of their deadlines, and time passes with them.
#[test]
fn timers_of_a_task_fire_in_order() {
    let two = async || {
        let start = tokio::time::Instant::now();
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        let first = tokio::select! {
            () = tokio::time::sleep(long) => 2,
            () = tokio::time::sleep(short) => 1,
        };
        (first, start.elapsed().as_secs())
    };
    assert_eq!(outcomes(two), [(1, 1)].into());
}
