//! Workers with a list of tasks each, who help others when they have none left.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crossbeam_deque::{Steal, Stealer, Worker};

/// The number of tasks that are not finished.
#[derive(Default)]
pub struct Pending {
    tasks: AtomicUsize,
}

impl Pending {
    pub fn new(tasks: usize) -> Self {
        Pending {
            tasks: AtomicUsize::new(tasks),
        }
    }

    pub fn are_done(&self) -> bool {
        self.tasks.load(SeqCst) == 0
    }

    /// Does a task, and only then says so.
    pub fn finish(&self, task: u32, done: &AtomicUsize) {
        done.fetch_add(task as usize, SeqCst);
        self.tasks.fetch_sub(1, SeqCst);
    }

    /// Says so before it is done.
    pub fn finish_early(&self, task: u32, done: &AtomicUsize) {
        self.tasks.fetch_sub(1, SeqCst);
        done.fetch_add(task as usize, SeqCst);
    }
}

/// Steals a task from the other end of a worker's queue; `None` if it is empty.
pub fn steal<T>(stealer: &Stealer<T>) -> Option<T> {
    loop {
        match stealer.steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

/// The owner's own end.
pub fn own<T>(worker: &Worker<T>) -> Option<T> {
    worker.pop()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn no_task_is_done_twice() {
        let worker = Worker::new_lifo();
        worker.push(1);
        worker.push(2);
        let stealer = worker.stealer();
        let thief = thread::spawn(move || steal(&stealer).unwrap_or(0));
        let mut sum = 0;
        while let Some(task) = own(&worker) {
            sum += task;
        }
        assert_eq!(sum + thief.join().unwrap(), 3);
    }

    fn all_at_the_end(finish: fn(&Pending, u32, &AtomicUsize)) {
        let worker = Worker::new_fifo();
        worker.push(5);
        let stealer = worker.stealer();
        let pending = Pending::new(1);
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(task) = steal(&stealer) {
                    finish(&pending, task, &done);
                }
            });
            if pending.are_done() {
                assert_eq!(done.load(SeqCst), 5, "not all is done");
            }
        });
    }

    #[test]
    fn the_end_is_the_end() {
        all_at_the_end(Pending::finish);
    }

    #[test]
    fn the_end_is_early() {
        all_at_the_end(Pending::finish_early);
    }
}
