//! Each task in turn.

use super::{DataSource, RandomDataSource, Schedule, Scheduler, Task, TaskId};

/// Runs one step of each task in turn.
#[derive(Debug)]
pub struct RoundRobinScheduler {
    max_iterations: usize,
    iterations: usize,
    data: RandomDataSource,
}

impl RoundRobinScheduler {
    /// Creates a scheduler that runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        RoundRobinScheduler {
            max_iterations,
            iterations: 0,
            data: RandomDataSource::initialize(0),
        }
    }
}

impl Default for RoundRobinScheduler {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Scheduler for RoundRobinScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.iterations == self.max_iterations {
            return None;
        }
        self.iterations += 1;
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        let mut tasks = runnable_tasks.iter().map(|task| task.id());
        let next = tasks.find(|&task| current_task.is_none_or(|current| task > current));
        next.or_else(|| runnable_tasks.first().map(|task| task.id()))
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }
}
