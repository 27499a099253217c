//! Numbers of classes, against an enumeration of all schedules and against arithmetic.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use raddle::{Checker, Strategy};
use tokio::sync::{Mutex, Notify, RwLock, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

/// Runs a body exhaustively and in every schedule; returns the number of classes of the first and the outcomes,
/// which must be those of the second.
pub fn classes<T: Ord + Send + Clone + std::fmt::Debug>(
    body: impl AsyncFn() -> T + Send + Sync,
) -> (u64, BTreeSet<T>) {
    let run = |strategy: Strategy| {
        let seen = StdMutex::new(BTreeSet::new());
        let checker = Checker::new()
            .strategy(strategy)
            .spurious_wakeups(false)
            .max_executions(2_000_000);
        let report = checker.run(|| {
            let outcome = raddle::future::block_on(body());
            seen.lock().unwrap().insert(outcome);
        });
        report.assert_ok();
        assert!(report.exhausted, "{report}");
        (
            report.classes(),
            report.executions,
            seen.into_inner().unwrap(),
        )
    };
    let (classes, executions, outcomes) = run(Strategy::Exhaustive);
    let (all_classes, schedules, all_outcomes) = run(Strategy::Enumerate);
    assert_eq!(outcomes, all_outcomes);
    assert_eq!(classes, all_classes, "{schedules} schedules");
    assert_eq!(classes, executions, "a class was run twice");
    (classes, outcomes)
}

/// Two tasks that lock a mutex once: two orders of the locks, and in each the second may wait or come later.
#[test]
fn a_mutex_has_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let order = Arc::new(Mutex::new(Vec::new()));
        let other = Arc::clone(&order);
        let task = tokio::spawn(async move { other.lock().await.push(1) });
        order.lock().await.push(0);
        task.await.unwrap();
        order.lock().await.clone()
    });
    assert_eq!(outcomes, [vec![0, 1], vec![1, 0]].into());
}

#[test]
fn a_semaphore_and_a_cancelled_request_have_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let permits = Arc::new(Semaphore::new(1));
        let other = Arc::clone(&permits);
        let task = tokio::spawn(async move { drop(other.acquire().await.unwrap()) });
        tokio::select! {
            biased;
            permit = permits.acquire() => drop(permit.unwrap()),
            () = std::future::ready(()) => {}
        }
        task.await.unwrap();
        permits.available_permits()
    });
    assert_eq!(outcomes, [1].into());
}

#[test]
fn messages_have_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let second = sender.clone();
        let task = tokio::spawn(async move { second.send(1).unwrap() });
        sender.send(0).unwrap();
        drop(sender);
        let mut all = Vec::new();
        while let Some(message) = receiver.recv().await {
            all.push(message);
        }
        task.await.unwrap();
        all
    });
    assert_eq!(outcomes, [vec![0, 1], vec![1, 0]].into());
}

#[test]
fn a_bounded_channel_has_the_outcomes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let (sender, mut receiver) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let first = sender.try_send(0).is_ok();
            (first, sender.try_send(1).is_ok())
        });
        let first = receiver.recv().await;
        let sent = task.await.unwrap();
        (first, sent, receiver.recv().await)
    });
    let all = [
        (Some(0), (true, false), None),
        (Some(0), (true, true), Some(1)),
    ];
    assert_eq!(outcomes, all.into());
}

#[test]
fn a_oneshot_has_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let (sender, mut receiver) = oneshot::channel();
        let task = tokio::spawn(async move { sender.send(1).unwrap() });
        let early = receiver.try_recv().ok();
        let late = match early {
            Some(_) => None,
            None => receiver.await.ok(),
        };
        task.await.unwrap();
        (early, late)
    });
    assert_eq!(outcomes, [(Some(1), None), (None, Some(1))].into());
}

/// `notify_waiters` reaches a future that was made before, and `notify_one` leaves a permit.
#[test]
fn notifications_have_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        let notified = notify.notified();
        let task = tokio::spawn(async move {
            other.notify_waiters();
            other.notify_one();
        });
        notified.await;
        notify.notified().await;
        task.await.unwrap();
    });
    assert_eq!(outcomes, [()].into());
}

#[test]
fn readers_and_a_writer_have_the_classes_of_brute_force() {
    let (_, outcomes) = classes(async || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let task = tokio::spawn(async move { *other.write().await = 1 });
        let before = *lock.read().await;
        task.await.unwrap();
        (before, *lock.read().await)
    });
    assert_eq!(outcomes, [(0, 1), (1, 1)].into());
}

/// A set returns the tasks in each order in which they can end. All schedules of two tasks are too many.
#[test]
fn a_set_of_tasks_has_every_order() {
    let (_, outcomes) = classes(async || {
        let mut set = JoinSet::new();
        set.spawn(async { 1 });
        let first = set.join_next().await.unwrap().unwrap();
        (first, set.join_next().await.is_none())
    });
    assert_eq!(outcomes, [(1, true)].into());
    let seen = StdMutex::new(BTreeSet::new());
    let exhaustive = Checker::new().strategy(Strategy::Exhaustive);
    let report = exhaustive.run(|| {
        raddle::future::block_on(async {
            let mut set = JoinSet::new();
            let handles = [set.spawn(async { 1 }), set.spawn(async { 2 })];
            // Both have ended before the first is taken, so that the set has to know their order.
            raddle::assume(handles.iter().all(tokio::task::AbortHandle::is_finished));
            let all: Vec<u32> = set.join_all().await;
            seen.lock().unwrap().insert(all);
        });
    });
    report.assert_ok();
    assert!(report.exhausted);
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen, [vec![1, 2], vec![2, 1]].into());
}
