//! Random schedules, each about as likely as the others.

use super::{
    DataSource, OwnStrategy, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed,
    seed_or,
};
use crate::current::Draws;

/// Chooses a task with a probability in proportion to the steps that it has left, as in *Selectively Uniform
/// Concurrency Testing* (Zhao et al., ASPLOS 2025).
#[derive(Debug)]
pub struct UrwRandomScheduler {
    max_iterations: usize,
    iterations: usize,
    seed: u64,
    /// Steps of each task in the first execution.
    steps: Vec<u64>,
    /// Steps that are left in this one.
    left: Vec<u64>,
    choices: RandomDataSource,
    data: RandomDataSource,
}

impl UrwRandomScheduler {
    /// Creates a scheduler that runs this many executions.
    pub fn new(max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_iterations)
    }

    /// Creates a scheduler with a seed. `SHUTTLE_RANDOM_SEED` takes its place.
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> Self {
        let seed = seed_or(seed);
        UrwRandomScheduler {
            max_iterations,
            iterations: 0,
            seed,
            steps: Vec::new(),
            left: Vec::new(),
            choices: RandomDataSource::initialize(!seed),
            data: RandomDataSource::initialize(seed),
        }
    }
}

impl Scheduler for UrwRandomScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.iterations == self.max_iterations {
            return None;
        }
        self.iterations += 1;
        self.left.clone_from(&self.steps);
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
        let left = |task: &&Task| {
            self.left
                .get(usize::from(task.id()))
                .map_or(1, |&it| it.max(1))
        };
        let weights: Vec<u64> = runnable_tasks.iter().map(left).collect();
        let mut drawn = self.choices.next_u64() % weights.iter().sum::<u64>();
        let is_it = |weight: &u64| {
            let is_it = drawn < *weight;
            drawn = drawn.wrapping_sub(*weight);
            is_it
        };
        let chosen = weights
            .iter()
            .position(is_it)
            .expect("the number is below the sum");
        let task = runnable_tasks[chosen].id();
        let index = usize::from(task);
        if self.iterations == 1 {
            self.steps.resize(self.steps.len().max(index + 1), 0);
            self.steps[index] += 1;
        } else if let Some(left) = self.left.get_mut(index) {
            *left = left.saturating_sub(1);
        }
        Some(task)
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn __own(&self) -> Option<OwnStrategy> {
        Some(OwnStrategy {
            strategy: raddle::Strategy::Urw,
            executions: Some(self.max_iterations),
            seed: self.seed,
            draws: Draws::Scheduler,
            may_enumerate: false,
        })
    }
}
