//! Tests whose searches are shared by a queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

#[test]
fn adds() {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let add = |_| {
        thread::spawn(|| {
            COUNTER.fetch_add(1, SeqCst);
            COUNTER.fetch_add(1, SeqCst);
        })
    };
    let all: Vec<_> = (0..3).map(add).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(COUNTER.load(SeqCst), 6);
}

#[test]
fn loses_an_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}
