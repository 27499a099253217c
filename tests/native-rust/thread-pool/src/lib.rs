//! Threads that take jobs from one channel until it is closed.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

pub struct Pool {
    jobs: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    pub fn new(size: usize) -> Self {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let start = |number| {
            let queue = Arc::clone(&queue);
            let name = format!("worker-{number}");
            let work = move || work(&queue);
            thread::Builder::new().name(name).spawn(work).unwrap()
        };
        Pool {
            jobs: Some(jobs),
            workers: (0..size).map(start).collect(),
        }
    }

    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.as_ref().unwrap().send(Box::new(job)).unwrap();
    }

    /// Waits until all jobs are done.
    pub fn finish(mut self) {
        drop(self.jobs.take());
        self.join();
    }

    /// Waits for workers who wait for more jobs.
    pub fn finish_with_open_queue(mut self) {
        self.join();
    }

    fn join(&mut self) {
        for worker in self.workers.drain(..) {
            worker.join().unwrap();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue.lock().unwrap().recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    fn two_jobs(finish: fn(Pool)) {
        let done = Arc::new(AtomicU32::new(0));
        let pool = Pool::new(2);
        for _ in 0..2 {
            let done = Arc::clone(&done);
            pool.run(move || {
                done.fetch_add(1, SeqCst);
            });
        }
        finish(pool);
        assert_eq!(done.load(SeqCst), 2);
    }

    #[test]
    fn all_jobs_are_done() {
        two_jobs(Pool::finish);
    }

    #[test]
    fn all_jobs_are_done_with_open_queue() {
        two_jobs(Pool::finish_with_open_queue);
    }
}
