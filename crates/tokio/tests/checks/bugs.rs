//! Bugs of async programs, each with a correct twin.
//!
//! A bug is found by the default strategy with each of 20 seeds, within 10,000 executions. A twin passes in every
//! behaviour.

use std::sync::Arc;
use std::time::Duration;

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Strategy};
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpsc, oneshot, watch,
};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

const SEEDS: u64 = 20;
const EXECUTIONS: u64 = 10_000;
const SECOND: Duration = Duration::from_secs(1);

macro_rules! bugs {
    ($($name:ident: $kind:ident, $bug:expr, $twin:expr;)*) => {$(
        #[test]
        fn $name() {
            for seed in 0..SEEDS {
                let checker = Checker::new().seed(seed).max_executions(EXECUTIONS);
                let report = checker.run(|| raddle::future::block_on($bug));
                let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
                assert_eq!(kinds, [FailureKind::$kind], "seed {seed}: {report}");
            }
            let checker = Checker::new().strategy(Strategy::Exhaustive).max_executions(1_000_000);
            let report = checker.run(|| raddle::future::block_on($twin));
            report.assert_ok();
            assert!(report.exhausted, "{report}");
        }
    )*};
}

bugs! {
    an_update_is_lost_between_two_locks: Panic, lost_update(false), lost_update(true);
    two_mutexes_are_locked_in_two_orders: Deadlock, two_orders(false), two_orders(true);
    a_notification_comes_before_the_waiter: Deadlock, early_notification(false), early_notification(true);
    a_permit_is_leaked_by_an_abort: Deadlock, leaked_permit(false), leaked_permit(true);
    a_permit_is_dropped_at_once: Panic, permit_in_underscore(false), permit_in_underscore(true);
    a_message_is_lost_by_a_branch_that_loses: Panic, cancelled_branch(false), cancelled_branch(true);
    an_abort_leaves_half_a_transfer: Panic, half_a_transfer(false), half_a_transfer(true);
    a_receiver_lags_behind: Panic, lagging(false), lagging(true);
    an_update_of_a_watched_value_is_missed: Deadlock, missed_update(false), missed_update(true);
    a_reply_is_never_sent: Panic, dropped_reply(false), dropped_reply(true);
    a_worker_is_aborted_before_the_last_message: Panic, early_shutdown(false), early_shutdown(true);
    a_retry_after_a_time_limit_does_it_twice: Panic, retry(false), retry(true);
    a_blocking_lock_is_held_across_an_await: Deadlock, blocking_lock(false), blocking_lock(true);
    a_reader_becomes_a_writer: Deadlock, upgrade(false), upgrade(true);
    a_second_read_waits_behind_a_writer: Deadlock, second_read(false), second_read(true);
    a_barrier_has_the_wrong_size: Deadlock, barrier_size(false), barrier_size(true);
    a_cell_is_initialized_twice: Panic, initialized_twice(false), initialized_twice(true);
    two_actors_fill_the_channels_of_each_other: Deadlock, full_channels(false), full_channels(true);
    a_task_is_not_awaited: Panic, not_awaited(false), not_awaited(true);
    a_lock_is_granted_to_a_future_that_is_not_polled: Deadlock, futurelock(false), futurelock(true);
}

async fn lost_update(correct: bool) {
    let balance = Arc::new(Mutex::new(0));
    let add = |balance: Arc<Mutex<u32>>| async move {
        if correct {
            *balance.lock().await += 1;
        } else {
            let before = *balance.lock().await;
            *balance.lock().await = before + 1;
        }
    };
    let other = tokio::spawn(add(Arc::clone(&balance)));
    add(Arc::clone(&balance)).await;
    other.await.unwrap();
    assert_eq!(*balance.lock().await, 2);
}

async fn two_orders(correct: bool) {
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (mut first, mut second) = (Arc::clone(&right), Arc::clone(&left));
    if correct {
        std::mem::swap(&mut first, &mut second);
    }
    let other = tokio::spawn(async move {
        let _first = first.lock().await;
        let _second = second.lock().await;
    });
    {
        let _left = left.lock().await;
        let _right = right.lock().await;
    }
    other.await.unwrap();
}

/// The waiter becomes one after it has looked: a notification between the two is lost.
async fn early_notification(correct: bool) {
    let shared = Arc::new((AtomicBool::new(false), Notify::new()));
    let other = Arc::clone(&shared);
    let notifier = tokio::spawn(async move {
        other.0.store(true, SeqCst);
        other.1.notify_waiters();
    });
    let (is_ready, notify) = &*shared;
    if correct {
        let notified = notify.notified();
        if !is_ready.load(SeqCst) {
            notified.await;
        }
    } else if !is_ready.load(SeqCst) {
        notify.notified().await;
    }
    notifier.await.unwrap();
}

/// A permit that is returned by hand is not returned by a task that is aborted.
async fn leaked_permit(correct: bool) {
    let permits = Arc::new(Semaphore::new(1));
    let other = Arc::clone(&permits);
    let task = tokio::spawn(async move {
        let permit = other.acquire().await.unwrap();
        if correct {
            yield_now().await;
        } else {
            permit.forget();
            yield_now().await;
            other.add_permits(1);
        }
    });
    task.abort();
    let _ = task.await;
    drop(permits.acquire().await.unwrap());
}

async fn permit_in_underscore(correct: bool) {
    let permits = Arc::new(Semaphore::new(1));
    let inside = Arc::new(AtomicU32::new(0));
    let enter = |permits: Arc<Semaphore>, inside: Arc<AtomicU32>| async move {
        let permit = permits.acquire().await.unwrap();
        let _kept = correct.then_some(permit);
        assert_eq!(inside.fetch_add(1, SeqCst), 0, "two tasks are inside");
        yield_now().await;
        inside.fetch_sub(1, SeqCst);
    };
    let other = tokio::spawn(enter(Arc::clone(&permits), Arc::clone(&inside)));
    enter(permits, inside).await;
    other.await.unwrap();
}

/// A future that has received a message and waits again loses it when it is dropped.
async fn cancelled_branch(correct: bool) {
    let (sender, mut receiver) = mpsc::channel(1);
    let producer = tokio::spawn(async move { sender.send(1).await.unwrap() });
    let mut received = None;
    if correct {
        tokio::select! {
            message = receiver.recv() => received = message,
            () = sleep(SECOND) => {}
        }
    } else {
        tokio::select! {
            message = async {
                let message = receiver.recv().await;
                yield_now().await;
                message
            } => received = message,
            () = sleep(SECOND) => {}
        }
    }
    producer.await.unwrap();
    let received = received.or(receiver.recv().await);
    assert_eq!(received, Some(1), "the message is lost");
}

async fn half_a_transfer(correct: bool) {
    let accounts = Arc::new(Mutex::new((1, 0)));
    let other = Arc::clone(&accounts);
    let mut set = JoinSet::new();
    set.spawn(async move {
        if correct {
            let mut accounts = other.lock().await;
            accounts.0 -= 1;
            accounts.1 += 1;
        } else {
            other.lock().await.0 -= 1;
            yield_now().await;
            other.lock().await.1 += 1;
        }
    });
    set.abort_all();
    while set.join_next().await.is_some() {}
    let (from, to) = *accounts.lock().await;
    assert_eq!(from + to, 1, "the money is gone");
}

async fn lagging(correct: bool) {
    let (sender, mut receiver) = broadcast::channel(if correct { 2 } else { 1 });
    let producer = tokio::spawn(async move {
        for message in 0..2 {
            sender.send(message).unwrap();
        }
    });
    for message in 0..2 {
        assert_eq!(receiver.recv().await, Ok(message));
    }
    producer.await.unwrap();
}

/// A receiver that is made after the look has seen the value that it missed.
async fn missed_update(correct: bool) {
    let (sender, mut receiver) = watch::channel(false);
    let sender = Arc::new(sender);
    let other = Arc::clone(&sender);
    let setter = tokio::spawn(async move { other.send(true).unwrap() });
    while !*receiver.borrow() {
        if !correct {
            receiver = sender.subscribe();
        }
        receiver.changed().await.unwrap();
    }
    setter.await.unwrap();
}

/// The worker replies only if it finds the cache filled.
async fn dropped_reply(correct: bool) {
    let is_cached = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&is_cached);
    let (sender, receiver) = oneshot::channel();
    let worker = tokio::spawn(async move {
        if correct || other.load(SeqCst) {
            sender.send(7).unwrap();
        }
    });
    is_cached.store(true, SeqCst);
    assert_eq!(receiver.await.expect("the worker replies"), 7);
    worker.await.unwrap();
}

async fn early_shutdown(correct: bool) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let sum = Arc::new(AtomicU32::new(0));
    let total = Arc::clone(&sum);
    let worker = tokio::spawn(async move {
        while let Some(message) = receiver.recv().await {
            total.fetch_add(message, SeqCst);
        }
    });
    sender.send(1).unwrap();
    if correct {
        drop(sender);
    } else {
        worker.abort();
    }
    let _ = worker.await;
    assert_eq!(sum.load(SeqCst), 1, "the last message is lost");
}

/// The task goes on after the limit has passed.
async fn retry(correct: bool) {
    let charged = Arc::new(AtomicU32::new(0));
    let charge = |charged: &Arc<AtomicU32>| {
        let charged = Arc::clone(charged);
        tokio::spawn(async move {
            yield_now().await;
            charged.fetch_add(1, SeqCst);
        })
    };
    let mut first = charge(&charged);
    if timeout(SECOND, &mut first).await.is_err() {
        if correct {
            first.abort();
            if first.await.is_err() {
                charge(&charged).await.unwrap();
            }
        } else {
            charge(&charged).await.unwrap();
            let _ = first.await;
        }
    }
    assert_eq!(charged.load(SeqCst), 1, "charged twice");
}

/// The sender needs the lock that the receiver holds while it waits.
async fn blocking_lock(correct: bool) {
    let log = Arc::new(raddle::sync::Mutex::new(Vec::new()));
    let other = Arc::clone(&log);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let producer = tokio::spawn(async move {
        other.lock().unwrap().push("sends");
        sender.send(1).unwrap();
    });
    if correct {
        let message = receiver.recv().await;
        log.lock().unwrap().push("received");
        assert_eq!(message, Some(1));
    } else {
        let mut log = log.lock().unwrap();
        assert_eq!(receiver.recv().await, Some(1));
        log.push("received");
    }
    producer.await.unwrap();
}

/// Two readers that both want to write wait for each other.
async fn upgrade(correct: bool) {
    let value = Arc::new(RwLock::new(0));
    let increment = |value: Arc<RwLock<u32>>| async move {
        let read = value.read().await;
        let before = *read;
        let kept = (!correct).then_some(read);
        *value.write().await = before + 1;
        drop(kept);
    };
    let other = tokio::spawn(increment(Arc::clone(&value)));
    increment(Arc::clone(&value)).await;
    other.await.unwrap();
}

async fn second_read(correct: bool) {
    let value = Arc::new(RwLock::new(1));
    let other = Arc::clone(&value);
    let writer = tokio::spawn(async move { *other.write().await += 1 });
    let first = value.read().await;
    let sum = if correct {
        *first + *first
    } else {
        *first + *value.read().await
    };
    drop(first);
    assert_eq!(sum % 2, 0);
    writer.await.unwrap();
}

async fn barrier_size(correct: bool) {
    let barrier = Arc::new(Barrier::new(if correct { 2 } else { 3 }));
    let other = Arc::clone(&barrier);
    let task = tokio::spawn(async move { other.wait().await.is_leader() });
    let leads = barrier.wait().await.is_leader();
    assert_ne!(leads, task.await.unwrap());
}

async fn initialized_twice(correct: bool) {
    let cell = Arc::new(OnceCell::new());
    let init = |cell: Arc<OnceCell<u32>>| async move {
        if correct {
            cell.get_or_init(async || 1).await;
        } else if cell.get().is_none() {
            cell.set(1).expect("it is empty");
        }
    };
    let other = tokio::spawn(init(Arc::clone(&cell)));
    init(Arc::clone(&cell)).await;
    other.await.unwrap();
    assert_eq!(cell.get(), Some(&1));
}

/// Each sends two messages before it receives.
async fn full_channels(correct: bool) {
    let room = if correct { 2 } else { 1 };
    let (to_left, mut left) = mpsc::channel(room);
    let (to_right, mut right) = mpsc::channel(room);
    let other = tokio::spawn(async move {
        for message in 0..2 {
            to_left.send(message).await.unwrap();
        }
        while right.recv().await.is_some() {}
    });
    for message in 0..2 {
        to_right.send(message).await.unwrap();
    }
    drop(to_right);
    while left.recv().await.is_some() {}
    other.await.unwrap();
}

async fn not_awaited(correct: bool) {
    let is_saved = Arc::new(AtomicU32::new(0));
    let saved = Arc::clone(&is_saved);
    let saving = tokio::spawn(async move { saved.store(1, SeqCst) });
    if correct {
        saving.await.unwrap();
    } else {
        yield_now().await;
    }
    assert_eq!(is_saved.load(SeqCst), 1, "it is not saved");
}

/// A request for the lock is kept and not polled; it is granted before the next one.
async fn futurelock(correct: bool) {
    let lock = Arc::new(Mutex::new(()));
    let other = Arc::clone(&lock);
    let holder = tokio::spawn(async move {
        let _guard = other.lock().await;
        yield_now().await;
    });
    let mut request = Box::pin(lock.lock());
    let is_late = tokio::select! {
        _guard = &mut request => false,
        () = sleep(SECOND) => true,
    };
    if is_late {
        if correct {
            drop(request);
        }
        drop(lock.lock().await);
    }
    holder.await.unwrap();
}
