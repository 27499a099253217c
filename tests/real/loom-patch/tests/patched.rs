//! Programs of async-lock, async-channel and event-listener, which use loom below their own interface.

use async_lock::{Mutex, OnceCell, RwLock, Semaphore};
use event_listener::{Event, Listener};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

#[test]
fn a_mutex_excludes() {
    loom::model(|| {
        let count = Arc::new(Mutex::new(0));
        let other = Arc::clone(&count);
        let adder = thread::spawn(move || *other.lock_blocking() += 1);
        *count.lock_blocking() += 1;
        adder.join().unwrap();
        assert_eq!(*count.lock_blocking(), 2);
    });
}

#[test]
fn a_writer_excludes_readers() {
    loom::model(|| {
        let pair = Arc::new(RwLock::new((0, 0)));
        let other = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            let mut pair = other.write_blocking();
            pair.0 += 1;
            pair.1 += 1;
        });
        let (one, two) = *pair.read_blocking();
        assert_eq!(one, two);
        writer.join().unwrap();
    });
}

#[test]
fn a_permit_is_given_back() {
    loom::model(|| {
        let permits = Arc::new(Semaphore::new(1));
        let other = Arc::clone(&permits);
        let user = thread::spawn(move || drop(other.acquire_blocking()));
        drop(permits.acquire_blocking());
        user.join().unwrap();
        assert!(permits.try_acquire().is_some());
    });
}

#[test]
fn a_cell_is_initialised_once() {
    loom::model(|| {
        let cell = Arc::new(OnceCell::new());
        let other = Arc::clone(&cell);
        let initialiser = thread::spawn(move || *other.get_or_init_blocking(|| 1));
        let value = *cell.get_or_init_blocking(|| 2);
        assert_eq!(initialiser.join().unwrap(), value);
    });
}

#[test]
fn a_channel_keeps_the_order() {
    loom::model(|| {
        let (sender, receiver) = async_channel::bounded(1);
        let producer = thread::spawn(move || {
            for number in 0..2 {
                sender.send_blocking(number).unwrap();
            }
        });
        assert_eq!(receiver.recv_blocking(), Ok(0));
        assert_eq!(receiver.recv_blocking(), Ok(1));
        producer.join().unwrap();
        assert!(receiver.recv_blocking().is_err());
    });
}

#[test]
fn a_notification_is_not_lost() {
    loom::model(|| {
        let shared = Arc::new((AtomicBool::new(false), Event::new()));
        let other = Arc::clone(&shared);
        let notifier = thread::spawn(move || {
            other.0.store(true, Ordering::SeqCst);
            other.1.notify(1);
        });
        while !shared.0.load(Ordering::SeqCst) {
            let listener = shared.1.listen();
            if !shared.0.load(Ordering::SeqCst) {
                listener.wait();
            }
        }
        notifier.join().unwrap();
    });
}
