//! Scripts of calls on tokio's primitives and on these, inside a check and outside: their results are the same.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use raddle::Checker;

/// Polls a future once.
fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A line of the record.
macro_rules! note {
    ($record:ident, $($value:expr),+ $(,)?) => {
        $($record.push(format!("{} = {:?}", stringify!($value), $value));)+
    };
}

/// Compares a script on both.
macro_rules! scripts {
    ($($name:ident($record:ident, $tokio:ident) $script:block)*) => {$(
        #[test]
        fn $name() {
            fn on_tokio() -> Vec<String> {
                use real as $tokio;
                let mut $record = Vec::new();
                $script
                $record
            }
            fn on_ours() -> Vec<String> {
                use tokio as $tokio;
                let mut $record = Vec::new();
                $script
                $record
            }
            let expected = on_tokio();
            assert!(expected.len() > 3, "a script has results");
            assert_eq!(on_ours(), expected, "outside a check");
            let compared = expected.clone();
            let report = Checker::new().run(move || assert_eq!(on_ours(), compared));
            report.assert_ok();
        }
    )*};
}

scripts! {
    mutex(record, tokio) {
        let lock = tokio::sync::Mutex::new(0);
        let mut guard = lock.try_lock().unwrap();
        *guard += 1;
        note!(record, lock.try_lock().map(|_| ()).map_err(|error| error.to_string()));
        let mut first = Box::pin(lock.lock());
        let mut second = Box::pin(lock.lock());
        let mut third = Box::pin(lock.lock());
        note!(record, poll(&mut second).is_some(), poll(&mut first).is_some());
        note!(record, poll(&mut third).is_some());
        drop(guard);
        // Granted to the second, which was polled first; no other request gets it.
        note!(record, lock.try_lock().is_ok(), poll(&mut first).is_some());
        // Its cancellation passes the lock on.
        drop(second);
        note!(record, poll(&mut third).is_some());
        let guard = poll(&mut first);
        note!(record, guard.as_deref().copied());
        drop(guard);
        note!(record, poll(&mut third).map(|guard| *guard));
        note!(record, lock.try_lock().map(|guard| *guard).ok());
        drop((first, third));
        note!(record, lock.into_inner());
    }

    rwlock(record, tokio) {
        let lock = tokio::sync::RwLock::new(5);
        let reader = lock.try_read().unwrap();
        note!(record, lock.try_read().is_ok(), lock.try_write().is_ok());
        let mut writer = Box::pin(lock.write());
        note!(record, poll(&mut writer).is_some());
        // A writer that waits keeps readers out.
        note!(record, lock.try_read().is_ok());
        let mut late = Box::pin(lock.read());
        note!(record, poll(&mut late).is_some());
        drop(reader);
        let mut guard = poll(&mut writer).unwrap();
        *guard += 1;
        note!(record, poll(&mut late).is_some());
        let guard = guard.downgrade();
        note!(record, *guard, poll(&mut late).map(|guard| *guard), lock.try_write().is_ok());
        drop(guard);
        drop(late);
        note!(record, lock.try_write().is_ok());
    }

    semaphore(record, tokio) {
        let permits = tokio::sync::Semaphore::new(3);
        let two = permits.try_acquire_many(2).unwrap();
        note!(record, permits.available_permits());
        note!(record, permits.try_acquire_many(2).map(|_| ()).map_err(|error| error.to_string()));
        let mut large = Box::pin(permits.acquire_many(3));
        note!(record, poll(&mut large).is_some(), permits.available_permits());
        // A small request does not overtake a large one; none of nothing does.
        let mut small = Box::pin(permits.acquire());
        note!(record, poll(&mut small).is_some(), permits.try_acquire().is_ok());
        note!(record, permits.try_acquire_many(0).is_ok(), permits.forget_permits(1));
        drop(large);
        note!(record, permits.available_permits(), poll(&mut small).is_some());
        note!(record, permits.available_permits());
        drop(small);
        two.forget();
        note!(record, permits.available_permits());
        permits.add_permits(2);
        note!(record, permits.available_permits(), permits.forget_permits(1));
        let mut split = permits.try_acquire_many(2).unwrap();
        let part = split.split(1).unwrap();
        note!(record, split.num_permits(), part.num_permits(), split.split(5).is_some());
        let mut waiting = Box::pin(permits.acquire());
        note!(record, poll(&mut waiting).is_some());
        permits.close();
        note!(record, poll(&mut waiting).map(|result| result.map(|_| ()).map_err(|error| error.to_string())));
        note!(record, permits.is_closed(), permits.try_acquire().map(|_| ()).map_err(|error| error.to_string()));
        drop((split, part));
        note!(record, permits.available_permits());
    }

    // A request that was granted before the semaphore was closed fails, and returns its permit.
    semaphore_closed_after_a_grant(record, tokio) {
        let permits = tokio::sync::Semaphore::new(0);
        let mut granted = Box::pin(permits.acquire());
        note!(record, poll(&mut granted).is_some());
        permits.add_permits(1);
        note!(record, permits.available_permits());
        permits.close();
        note!(record, poll(&mut granted).map(|result| result.is_ok()));
        drop(granted);
        note!(record, permits.available_permits(), permits.try_acquire().is_ok());
    }

    notify(record, tokio) {
        let notify = tokio::sync::Notify::new();
        notify.notify_one();
        notify.notify_one();
        let mut first = Box::pin(notify.notified());
        let mut second = Box::pin(notify.notified());
        // Two notifications leave one permit.
        note!(record, poll(&mut first), poll(&mut second));
        let mut third = Box::pin(notify.notified());
        note!(record, poll(&mut third));
        notify.notify_one();
        note!(record, poll(&mut third));
        // The second was notified; its drop passes that on.
        drop(second);
        note!(record, poll(&mut third));
        // A future that was made before is notified, one that is made later is not.
        let mut before = Box::pin(notify.notified());
        notify.notify_waiters();
        let mut after = Box::pin(notify.notified());
        note!(record, poll(&mut before), poll(&mut after));
        let mut last = Box::pin(notify.notified());
        note!(record, last.as_mut().enable());
        notify.notify_last();
        note!(record, poll(&mut after), poll(&mut last));
        drop(after);
        let mut end = Box::pin(notify.notified());
        note!(record, poll(&mut end));
    }

    oneshot(record, tokio) {
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<u32>();
        note!(record, poll(&mut receiver).is_some(), receiver.try_recv(), sender.is_closed());
        note!(record, sender.send(1), receiver.try_recv(), receiver.try_recv());
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<u32>();
        drop(sender);
        note!(record, poll(&mut receiver).map(|it| it.map_err(|e| e.to_string())), receiver.try_recv());
        let (mut sender, receiver) = tokio::sync::oneshot::channel::<u32>();
        note!(record, poll(&mut Box::pin(sender.closed())));
        drop(receiver);
        note!(record, poll(&mut Box::pin(sender.closed())), sender.is_closed(), sender.send(2));
        // A message that was sent before the close is received.
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<u32>();
        sender.send(3).unwrap();
        receiver.close();
        note!(record, poll(&mut receiver).map(|it| it.map_err(|e| e.to_string())));
        let (sender, mut receiver) = tokio::sync::oneshot::channel::<u32>();
        receiver.close();
        note!(record, sender.send(4), poll(&mut receiver).map(|it| it.map_err(|e| e.to_string())));
    }

    mpsc_bounded(record, tokio) {
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<u32>(2);
        note!(record, sender.capacity(), sender.max_capacity());
        note!(record, sender.try_send(1), sender.try_send(2), sender.try_send(3));
        let mut fourth = Box::pin(sender.send(4));
        let mut fifth = Box::pin(sender.send(5));
        note!(record, poll(&mut fourth).is_some(), poll(&mut fifth).is_some());
        note!(record, receiver.try_recv(), sender.try_send(6));
        // The room went to the send that waited first; its drop passes it on.
        drop(fourth);
        note!(record, poll(&mut fifth), receiver.len());
        note!(record, receiver.try_recv(), receiver.try_recv(), receiver.try_recv());
        drop(fifth);
        let permit = sender.try_reserve().unwrap();
        note!(record, sender.capacity());
        receiver.close();
        note!(record, sender.is_closed(), sender.try_send(7));
        // A permit that was given before the close keeps the channel.
        note!(record, receiver.try_recv());
        permit.send(8);
        note!(record, receiver.try_recv(), receiver.try_recv());
        let permit_after = sender.try_reserve().map(|_| ());
        note!(record, permit_after);
        let weak = sender.downgrade();
        note!(record, weak.upgrade().is_some());
        drop(sender);
        note!(record, weak.upgrade().is_some());
    }

    mpsc_unbounded(record, tokio) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<u32>();
        let other = sender.clone();
        note!(record, receiver.try_recv(), sender.send(1), other.send(2));
        note!(record, receiver.len(), receiver.is_empty(), receiver.is_closed());
        drop(sender);
        note!(record, receiver.try_recv());
        let mut buffer = Vec::new();
        other.send(3).unwrap();
        note!(record, poll(&mut Box::pin(receiver.recv_many(&mut buffer, 5))));
        note!(record, buffer);
        note!(record, poll(&mut Box::pin(receiver.recv())));
        drop(other);
        note!(record, poll(&mut Box::pin(receiver.recv())), receiver.try_recv());
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<u32>();
        let mut closed = Box::pin(sender.closed());
        note!(record, poll(&mut closed));
        drop(receiver);
        note!(record, poll(&mut closed), sender.send(4), sender.is_closed());
    }

    watch(record, tokio) {
        let (sender, mut receiver) = tokio::sync::watch::channel(1);
        let late = sender.subscribe();
        note!(record, receiver.has_changed().ok(), poll(&mut Box::pin(receiver.changed())).is_some());
        note!(record, sender.send(2).is_ok(), sender.send(3).is_ok());
        note!(record, *receiver.borrow(), receiver.has_changed().ok());
        note!(record, poll(&mut Box::pin(receiver.changed())).is_some(), receiver.has_changed().ok());
        note!(record, late.has_changed().ok(), sender.send_replace(4), *late.borrow());
        note!(record, receiver.borrow_and_update().has_changed(), receiver.borrow().has_changed());
        note!(record, sender.send_if_modified(|_| false), receiver.has_changed().ok());
        receiver.mark_changed();
        note!(record, receiver.has_changed().ok());
        note!(record, sender.receiver_count());
        drop(late);
        sender.send(5).unwrap();
        drop(sender);
        // The last value is seen before the end.
        note!(record, poll(&mut Box::pin(receiver.changed())).map(|it| it.is_ok()));
        note!(record, poll(&mut Box::pin(receiver.changed())).map(|it| it.map_err(|e| e.to_string())));
        note!(record, poll(&mut Box::pin(receiver.wait_for(|value| *value == 5))).map(|it| it.is_ok()));
        note!(record, poll(&mut Box::pin(receiver.wait_for(|value| *value == 6))).map(|it| it.is_ok()));
        let (sender, receiver) = tokio::sync::watch::channel(1);
        drop(receiver);
        note!(record, sender.send(2).is_err(), sender.is_closed(), *sender.borrow());
    }

    broadcast(record, tokio) {
        let (sender, mut first) = tokio::sync::broadcast::channel::<u32>(2);
        let mut second = sender.subscribe();
        note!(record, first.try_recv(), sender.send(1).ok(), sender.receiver_count());
        let mut late = sender.subscribe();
        note!(record, late.try_recv(), first.try_recv(), first.try_recv());
        note!(record, sender.send(2).ok(), sender.send(3).ok(), sender.send(4).ok());
        // Two of the three messages are kept.
        note!(record, first.len(), first.try_recv(), first.try_recv(), first.try_recv(), first.try_recv());
        note!(record, poll(&mut Box::pin(second.recv())), poll(&mut Box::pin(second.recv())));
        note!(record, sender.len());
        drop(late);
        note!(record, sender.receiver_count(), sender.len());
        let mut again = second.resubscribe();
        drop(sender);
        note!(record, again.try_recv(), second.try_recv(), second.try_recv());
        let (sender, receiver) = tokio::sync::broadcast::channel::<u32>(3);
        drop(receiver);
        note!(record, sender.send(1).map_err(|error| error.0));
    }

    barrier(record, tokio) {
        let barrier = tokio::sync::Barrier::new(2);
        let mut first = Box::pin(barrier.wait());
        let mut second = Box::pin(barrier.wait());
        let mut third = Box::pin(barrier.wait());
        note!(record, poll(&mut first).is_some());
        note!(record, poll(&mut second).map(|it| it.is_leader()));
        note!(record, poll(&mut third).is_some());
        note!(record, poll(&mut first).map(|it| it.is_leader()));
        note!(record, poll(&mut Box::pin(barrier.wait())).map(|it| it.is_leader()));
    }

    once_cell(record, tokio) {
        let cell = tokio::sync::OnceCell::<u32>::new();
        note!(record, cell.get(), cell.initialized());
        let mut first = Box::pin(cell.get_or_init(|| async { std::future::pending::<u32>().await }));
        note!(record, poll(&mut first).is_some(), cell.set(1).map_err(|error| error.to_string()));
        let mut second = Box::pin(cell.get_or_init(|| async { 2 }));
        note!(record, poll(&mut second));
        // An initialization that is dropped lets the next one begin.
        drop(first);
        note!(record, poll(&mut second), cell.get());
        let mut failing = Box::pin(cell.get_or_try_init(|| async { Err::<u32, &str>("no") }));
        note!(record, poll(&mut failing), cell.set(3).map_err(|error| error.to_string()));
        let other = tokio::sync::OnceCell::<u32>::new();
        note!(record, poll(&mut Box::pin(other.get_or_try_init(|| async { Err::<u32, &str>("no") }))));
        note!(record, other.set(4).is_ok(), other.into_inner());
    }
}

/// A pinned future that is not `Unpin` is polled through its pin.
#[test]
fn a_lock_is_taken_through_a_pin() {
    let lock = tokio::sync::Mutex::new(1);
    let mut request = pin!(lock.lock());
    assert_eq!(poll(&mut request).map(|guard| *guard), Some(1));
}
