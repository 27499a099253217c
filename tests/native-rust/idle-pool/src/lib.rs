//! A pool whose threads are never joined: they wait for jobs with a time limit, and outlive the tests.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// Time after which an idle thread looks at its surroundings.
const IDLE: Duration = Duration::from_millis(50);

/// Threads with a channel each.
pub struct Pool {
    senders: Vec<Sender<Job>>,
}

impl Pool {
    pub fn new(threads: usize) -> Self {
        let start = |_| {
            let (sender, receiver) = channel();
            // The sender of a pool that was dropped is kept alive, as in a pool for the whole program.
            let kept = sender.clone();
            thread::spawn(move || {
                work(&receiver);
                drop(kept);
            });
            sender
        };
        Pool {
            senders: (0..threads).map(start).collect(),
        }
    }

    pub fn run(&self, thread: usize, job: impl FnOnce() + Send + 'static) {
        self.senders[thread].send(Box::new(job)).unwrap();
    }
}

fn work(jobs: &Receiver<Job>) {
    loop {
        match jobs.recv_timeout(IDLE) {
            Ok(job) => job(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// One queue for all threads.
#[derive(Clone, Default)]
pub struct Shared(Arc<(Mutex<Vec<Job>>, Condvar)>);

impl Shared {
    pub fn new(threads: usize) -> Self {
        let pool = Shared::default();
        for _ in 0..threads {
            let pool = pool.clone();
            thread::spawn(move || pool.work());
        }
        pool
    }

    fn work(&self) {
        let (jobs, changed) = &*self.0;
        loop {
            let queue = jobs.lock().unwrap();
            let (mut queue, _) = changed.wait_timeout(queue, IDLE).unwrap();
            let job = queue.pop();
            drop(queue);
            if let Some(job) = job {
                job();
            }
        }
    }

    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let (jobs, changed) = &*self.0;
        jobs.lock().unwrap().push(Box::new(job));
        changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    #[test]
    fn a_job_is_done_once() {
        let pool = Pool::new(1);
        let (done, result) = channel();
        pool.run(0, move || done.send(1).unwrap());
        assert_eq!(result.recv(), Ok(1));
        assert!(result.recv().is_err());
    }

    #[test]
    fn two_threads_stay_idle() {
        let pool = Pool::new(2);
        let (done, result) = channel();
        pool.run(1, move || done.send(1).unwrap());
        assert_eq!(result.recv(), Ok(1));
    }

    #[test]
    fn a_shared_queue_is_polled() {
        let pool = Shared::new(2);
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        pool.run(move || {
            counted.fetch_add(1, SeqCst);
        });
        assert!(count.load(SeqCst) <= 1);
    }

    /// The job may be done when the test is over, or before.
    #[test]
    fn work_that_is_left_is_done() {
        let pool = Pool::new(1);
        let is_over = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&is_over);
        pool.run(0, move || assert_eq!(seen.load(SeqCst), 0, "the test is over"));
        is_over.store(1, SeqCst);
    }
}
