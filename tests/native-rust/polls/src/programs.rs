//! Receivers that do not wait. An outcome has a digit for each result, and one for a value that was read.

use super::sync::Arc;
use super::sync::atomic::{AtomicU32, Ordering::Relaxed};
use super::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use super::thread;
use std::time::Duration;

/// One digit for the result of a poll: 0 for a message, 1 for none, 2 if no sender is left.
fn poll(receiver: &Receiver<u32>) -> u32 {
    match receiver.try_recv() {
        Ok(_) => 0,
        Err(TryRecvError::Empty) => 1,
        Err(TryRecvError::Disconnected) => 2,
    }
}

/// The only sender writes and goes; a receiver that finds it gone finds what it wrote.
pub fn sender_goes() -> u32 {
    let written = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&written);
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        other.store(1, Relaxed);
        drop(sender);
    });
    let outcome = poll(&receiver) * 10 + written.load(Relaxed);
    thread.join().unwrap();
    outcome
}

/// The same with two senders, of which only one writes.
pub fn senders_go() -> u32 {
    let written = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&written);
    let (sender, receiver) = channel();
    let second = sender.clone();
    let threads = [
        thread::spawn(move || {
            other.store(1, Relaxed);
            drop(sender);
        }),
        thread::spawn(move || drop(second)),
    ];
    let outcome = poll(&receiver) * 10 + written.load(Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    outcome
}

/// Two polls while the only sender sends and goes.
pub fn polled_twice() -> u32 {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || sender.send(7).unwrap());
    let outcome = poll(&receiver) * 10 + poll(&receiver);
    thread.join().unwrap();
    outcome
}

/// A poll, and then a wait for what it did not find: no message is lost, none comes twice.
pub fn polled_then_received() -> u32 {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || sender.send(7).unwrap());
    let first = poll(&receiver);
    let second = if receiver.recv().is_ok() { 0 } else { 2 };
    thread.join().unwrap();
    first * 10 + second
}

/// A receive in limited time while the only sender sends and goes, and what is left then.
pub fn received_in_time() -> u32 {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || sender.send(7).unwrap());
    let first = match receiver.recv_timeout(Duration::from_millis(1)) {
        Ok(_) => 0,
        Err(RecvTimeoutError::Timeout) => 1,
        Err(RecvTimeoutError::Disconnected) => 2,
    };
    let second = if receiver.recv().is_ok() { 0 } else { 2 };
    thread.join().unwrap();
    first * 10 + second
}
