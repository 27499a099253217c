//! Random priorities.

use std::collections::BTreeSet;

use super::{
    DataSource, OwnStrategy, RandomDataSource, Schedule, Scheduler, Task, TaskId, fresh_seed,
    seed_or,
};
use crate::current::Draws;

/// Runs the task with the highest of random priorities, which change at random steps, as in *A Randomized
/// Scheduler with Probabilistic Guarantees of Finding Bugs* (Burckhardt et al., ASPLOS 2010).
#[derive(Debug)]
pub struct PctScheduler {
    max_iterations: usize,
    max_depth: usize,
    iterations: usize,
    seed: u64,
    /// By task.
    priorities: Vec<u64>,
    /// Decreases: the next priority that is lower than all others.
    lowest: u64,
    changes: BTreeSet<usize>,
    steps: usize,
    max_steps: usize,
    choices: RandomDataSource,
    data: RandomDataSource,
}

impl PctScheduler {
    /// Creates a scheduler that runs this many executions, with `max_depth` - 1 changes of priorities.
    pub fn new(max_depth: usize, max_iterations: usize) -> Self {
        Self::new_from_seed(fresh_seed(), max_depth, max_iterations)
    }

    /// Creates a scheduler with a seed. `SHUTTLE_RANDOM_SEED` takes its place.
    ///
    /// # Panics
    ///
    /// If the depth is 0.
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> Self {
        assert!(max_depth > 0, "the depth is at least 1");
        let seed = seed_or(seed);
        PctScheduler {
            max_iterations,
            max_depth,
            iterations: 0,
            seed,
            priorities: Vec::new(),
            lowest: 0,
            changes: BTreeSet::new(),
            steps: 0,
            max_steps: 0,
            choices: RandomDataSource::initialize(!seed),
            data: RandomDataSource::initialize(seed),
        }
    }

    /// Gives a task a priority that is lower than all others.
    fn lower(&mut self, task: TaskId) {
        self.lowest -= 1;
        self.priorities[usize::from(task)] = self.lowest;
    }
}

impl Scheduler for PctScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.iterations == self.max_iterations {
            return None;
        }
        self.iterations += 1;
        self.max_steps = self.max_steps.max(self.steps);
        self.steps = 0;
        self.priorities.clear();
        self.lowest = 1 << 32;
        let changes = (self.max_depth - 1).min(self.max_steps);
        self.changes.clear();
        while self.changes.len() < changes {
            self.changes.insert(1 + self.choices.below(self.max_steps));
        }
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let last = runnable_tasks
            .iter()
            .map(|task| usize::from(task.id()))
            .max()?;
        while self.priorities.len() <= last {
            let above = 1 << 32;
            self.priorities.push(above | self.choices.next_u64());
        }
        if let Some(current) = current_task
            && (is_yielding || self.changes.contains(&self.steps))
        {
            self.lower(current);
        }
        self.steps += 1;
        let priority = |task: &&&Task| self.priorities[usize::from(task.id())];
        runnable_tasks
            .iter()
            .max_by_key(priority)
            .map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.data.next_u64()
    }

    fn __own(&self) -> Option<OwnStrategy> {
        let depth = self.max_depth.try_into().unwrap_or(u32::MAX);
        Some(OwnStrategy {
            strategy: raddle::Strategy::Pct { depth },
            executions: Some(self.max_iterations),
            seed: self.seed,
            draws: Draws::Scheduler,
            may_enumerate: false,
        })
    }
}
