//! A part of a program that has nothing to do with the rest, before and after a large change of it.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::thread;

#[derive(Default)]
struct Log {
    lines: Mutex<usize>,
    written: AtomicUsize,
}

/// Two threads write lines of a log.
pub(super) fn before() {
    let log = Arc::new(Log::default());
    let threads = [0, 1].map(|_| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            *log.lines.lock().unwrap() += 1;
            log.written.fetch_add(1, SeqCst);
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(log.written.load(SeqCst), 2);
}

#[derive(Default)]
struct BufferedLog {
    lines: Mutex<usize>,
    buffers: [Mutex<usize>; 2],
    flushed: AtomicUsize,
    written: AtomicUsize,
}

/// The same with buffers, and twice as many lines.
pub(super) fn after() {
    let log = Arc::new(BufferedLog::default());
    let threads = [0, 1].map(|number| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            for _ in 0..2 {
                let mut buffer = log.buffers[number].lock().unwrap();
                *buffer += 1;
                log.written.fetch_add(1, SeqCst);
            }
            let buffered = std::mem::take(&mut *log.buffers[number].lock().unwrap());
            *log.lines.lock().unwrap() += buffered;
            log.flushed.fetch_add(buffered, SeqCst);
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(log.written.load(SeqCst), 4);
    assert_eq!(log.flushed.load(SeqCst), *log.lines.lock().unwrap());
}
