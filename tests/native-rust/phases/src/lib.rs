//! A computation in steps: in each, every thread reads what its neighbour wrote in the one before.

use std::cell::UnsafeCell;
use std::sync::Barrier;

pub struct Line {
    cells: Vec<UnsafeCell<u32>>,
    barrier: Barrier,
}

// SAFETY: threads write their own cells, and read others between two meetings.
unsafe impl Sync for Line {}

impl Line {
    pub fn new(size: usize) -> Self {
        Line {
            cells: (0..size).map(|cell| UnsafeCell::new(cell as u32)).collect(),
            barrier: Barrier::new(size),
        }
    }

    /// What the thread with this number does in one step; whether it was the last to come.
    pub fn step(&self, number: usize) -> bool {
        let left = self.left_of(number);
        self.barrier.wait();
        self.add(number, left);
        self.barrier.wait().is_leader()
    }

    /// Writes while others may still read.
    pub fn step_without_waiting(&self, number: usize) -> bool {
        let left = self.left_of(number);
        self.add(number, left);
        self.barrier.wait().is_leader()
    }

    fn left_of(&self, number: usize) -> u32 {
        let left = (number + self.cells.len() - 1) % self.cells.len();
        // SAFETY: the barrier separates the reads of a step from its writes.
        unsafe { *self.cells[left].get() }
    }

    fn add(&self, number: usize, left: u32) {
        // SAFETY: the barrier separates the writes of a step from the reads of the next.
        unsafe { *self.cells[number].get() += left };
    }

    pub fn sum(&mut self) -> u32 {
        self.cells.iter_mut().map(|cell| *cell.get_mut()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn one_step(step: fn(&Line, usize) -> bool) {
        let mut line = Line::new(2);
        thread::scope(|scope| {
            let other = scope.spawn(|| step(&line, 1));
            let leads = step(&line, 0);
            assert_ne!(leads, other.join().unwrap(), "one of them leads");
        });
        assert_eq!(line.sum(), 2);
    }

    #[test]
    fn neighbours_wait_for_each_other() {
        one_step(Line::step);
    }

    #[test]
    fn neighbours_do_not_wait_for_each_other() {
        one_step(Line::step_without_waiting);
    }

    #[test]
    fn one_does_not_come() {
        let line = Line::new(2);
        thread::scope(|scope| {
            scope.spawn(|| line.step_without_waiting(0));
        });
    }
}
