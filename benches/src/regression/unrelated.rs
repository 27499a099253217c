//! Parts of a program that have nothing to do with the rest: one before and after a large change of it, and one that does
//! not change.

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, mpsc};
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

/// Workers take jobs from a list and send what they have done: more operations than most changed parts have.
pub(super) fn unchanged() {
    let jobs = Arc::new(Mutex::new((0..8).collect::<Vec<usize>>()));
    let sum = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    let workers = [0, 1].map(|_| {
        let (jobs, sum, sender) = (Arc::clone(&jobs), Arc::clone(&sum), sender.clone());
        thread::spawn(move || {
            loop {
                let Some(job) = jobs.lock().unwrap().pop() else {
                    return;
                };
                sum.fetch_add(job, SeqCst);
                sender.send(job).unwrap();
            }
        })
    });
    drop(sender);
    let mut received = 0;
    while let Ok(job) = receiver.recv() {
        received += job;
    }
    workers.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!((received, sum.load(SeqCst)), (28, 28));
}
