//! Programs with one primitive of std's each, which is known where a thread enters its functions; `--cfg` says
//! which.
#![allow(dead_code)]

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

/// Two threads that each send a message, and the order in which they come.
fn send_from_two<S: Clone + Send + 'static>(sender: S, send: fn(&S, u32)) {
    let threads = [1, 2].map(|number| {
        let sender = sender.clone();
        thread::spawn(move || send(&sender, number))
    });
    drop(sender);
    threads.map(|thread| thread.join().unwrap());
}

fn unbounded() {
    let (sender, receiver) = mpsc::channel();
    send_from_two(sender, |sender, number| sender.send(number).unwrap());
    assert_eq!(receiver.iter().sum::<u32>(), 3);
}

fn bounded() {
    let (sender, receiver) = mpsc::sync_channel(2);
    send_from_two(sender, |sender, number| sender.send(number).unwrap());
    assert_eq!(receiver.iter().sum::<u32>(), 3);
}

fn rendezvous() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}

fn polled() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let _ = receiver.try_recv();
    thread.join().unwrap();
}

fn timed() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let _ = receiver.recv_timeout(Duration::from_millis(1));
    thread.join().unwrap();
}

fn clones() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let other = sender.clone();
    let thread = thread::spawn(move || drop(other));
    let second = sender.clone();
    drop((sender, second));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}

fn scope() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| count.store(1, SeqCst));
        scope.spawn(|| count.store(2, SeqCst));
    });
    assert_ne!(count.load(SeqCst), 0);
}

fn is_finished() {
    let thread = thread::spawn(|| ());
    let _ = thread.is_finished();
    thread.join().unwrap();
}

/// Runs this in two threads.
fn in_two(change: fn(&AtomicU32)) {
    let number = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&number);
    let thread = thread::spawn(move || change(&other));
    change(&number);
    thread.join().unwrap();
}

fn maximum() {
    in_two(|number| _ = number.fetch_max(3, SeqCst));
}

fn weak() {
    in_two(|number| _ = number.compare_exchange_weak(0, 1, SeqCst, SeqCst));
}

/// Each ordering and value is the same in all calls, which optimisers know of functions that are not inlined.
fn weak_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    let take = |flag: &AtomicBool| flag.compare_exchange_weak(false, true, Acquire, Relaxed);
    let thread = thread::spawn(move || take(&other).is_ok());
    let taken = take(&flag).is_ok();
    assert!(!(thread.join().unwrap() && taken));
}

/// How many handles there are depends on what the other thread has done.
fn count() {
    let handle = Arc::new(0);
    let other = Arc::clone(&handle);
    let thread = thread::spawn(move || drop(other));
    assert_ne!(Arc::strong_count(&handle), 0);
    thread.join().unwrap();
}

extern "C" fn run(_: *mut c_void) {
    #[cfg(unbounded)]
    unbounded();
    #[cfg(bounded)]
    bounded();
    #[cfg(rendezvous)]
    rendezvous();
    #[cfg(polled)]
    polled();
    #[cfg(timed)]
    timed();
    #[cfg(clones)]
    clones();
    #[cfg(scope)]
    scope();
    #[cfg(is_finished)]
    is_finished();
    #[cfg(maximum)]
    maximum();
    #[cfg(weak)]
    weak();
    #[cfg(weak_flag)]
    weak_flag();
    #[cfg(count)]
    count();
}

fn main() {
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(run, std::ptr::null_mut()) });
}
