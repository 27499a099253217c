//! Jobs in queues without locks.

use crossbeam_queue::{ArrayQueue, SegQueue};

/// Urgent jobs first; of these there is room for a few.
pub struct Jobs {
    urgent: ArrayQueue<u32>,
    other: SegQueue<u32>,
}

impl Jobs {
    pub fn new(room: usize) -> Self {
        Jobs {
            urgent: ArrayQueue::new(room),
            other: SegQueue::new(),
        }
    }

    pub fn add(&self, job: u32) {
        self.other.push(job);
    }

    /// A job that is urgent as long as there is room.
    pub fn hurry(&self, job: u32) {
        if let Err(job) = self.urgent.push(job) {
            self.add(job);
        }
    }

    /// Asks whether there is room, and relies on it.
    pub fn hurry_if_there_is_room(&self, job: u32) {
        match self.urgent.is_full() {
            true => self.add(job),
            false => self.urgent.push(job).expect("there was room"),
        }
    }

    pub fn next(&self) -> Option<u32> {
        self.urgent.pop().or_else(|| self.other.pop())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn urgent_jobs_come_first() {
        let jobs = Jobs::new(2);
        thread::scope(|scope| {
            scope.spawn(|| jobs.add(1));
            scope.spawn(|| jobs.hurry(2));
        });
        assert_eq!((jobs.next(), jobs.next()), (Some(2), Some(1)));
    }

    fn two_hurry(hurry: fn(&Jobs, u32)) {
        let jobs = Jobs::new(1);
        thread::scope(|scope| {
            scope.spawn(|| hurry(&jobs, 1));
            hurry(&jobs, 2);
        });
        assert!(jobs.next().is_some() && jobs.next().is_some());
    }

    #[test]
    fn no_job_is_lost() {
        two_hurry(Jobs::hurry);
    }

    #[test]
    fn no_job_is_lost_if_there_is_room() {
        two_hurry(Jobs::hurry_if_there_is_room);
    }
}
