//! Random schedules.

use super::{
    DataSource, OwnStrategy, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed,
    seed_or,
};
use crate::current::Draws;

/// Chooses a random task at each step.
#[derive(Debug)]
pub struct RandomScheduler {
    max_iterations: usize,
    iterations: usize,
    seed: u64,
    choices: RandomDataSource,
    data: RandomDataSource,
}

impl RandomScheduler {
    /// Creates a scheduler that runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_iterations)
    }

    /// Creates a scheduler with a seed. `SHUTTLE_RANDOM_SEED` takes its place.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        let seed = seed_or(seed);
        RandomScheduler {
            max_iterations,
            iterations: 0,
            seed,
            choices: RandomDataSource::initialize(!seed),
            data: RandomDataSource::initialize(seed),
        }
    }
}

impl Scheduler for RandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.iterations == self.max_iterations {
            return None;
        }
        self.iterations += 1;
        let seed = self.data.reinitialize();
        self.choices = RandomDataSource::initialize(!seed);
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        Some(runnable_tasks[self.choices.below(runnable_tasks.len())].id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn __own(&self) -> Option<OwnStrategy> {
        Some(OwnStrategy {
            strategy: raddle::Strategy::Random,
            executions: Some(self.max_iterations),
            seed: self.seed,
            draws: Draws::Scheduler,
            may_enumerate: false,
        })
    }
}
