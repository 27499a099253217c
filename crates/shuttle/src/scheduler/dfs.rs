//! Every schedule.

use super::{OwnStrategy, Schedule, Scheduler, Task, TaskId};
use crate::current::Draws;
use crate::rand::next;

/// Seed of the random numbers, which are the same in each execution.
const SEED: u64 = 0x5eed;

/// Runs every class of equivalent schedules. If the program behaves differently under the same schedule, because
/// tasks share values that raddle does not control, runs every schedule, in depth-first order. In both cases each
/// execution is an interleaving of the tasks: memory is sequentially consistent and nothing is spurious.
#[derive(Debug)]
pub struct DfsScheduler {
    max_iterations: Option<usize>,
    allow_random_data: bool,
    iterations: usize,
    /// The alternative that was taken at each step, and the number of alternatives.
    taken: Vec<(usize, usize)>,
    steps: usize,
    random: u64,
}

impl DfsScheduler {
    /// Creates a scheduler that runs this many executions at most. Tests may draw random numbers if
    /// `allow_random_data` is true; these are the same in each execution.
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> Self {
        DfsScheduler {
            max_iterations,
            allow_random_data,
            iterations: 0,
            taken: Vec::new(),
            steps: 0,
            random: SEED,
        }
    }
}

impl Scheduler for DfsScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self
            .max_iterations
            .is_some_and(|most| self.iterations >= most)
        {
            return None;
        }
        if self.iterations > 0 {
            self.taken.truncate(self.steps);
            while self
                .taken
                .pop_if(|(taken, all)| *taken + 1 == *all)
                .is_some()
            {}
            self.taken.last_mut()?.0 += 1;
        }
        self.iterations += 1;
        self.steps = 0;
        self.random = SEED;
        Some(Schedule::new(SEED))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        if self.steps == self.taken.len() {
            self.taken.push((0, runnable_tasks.len()));
        }
        let (taken, _) = self.taken[self.steps];
        self.steps += 1;
        let task = runnable_tasks.get(taken);
        let task =
            task.expect("possible nondeterminism: fewer tasks can run than in the last execution");
        Some(task.id())
    }

    fn next_u64(&mut self) -> u64 {
        assert!(
            self.allow_random_data,
            "requested random data from DFS scheduler with allow_random_data = false"
        );
        next(&mut self.random)
    }

    fn __own(&self) -> Option<OwnStrategy> {
        Some(OwnStrategy {
            strategy: raddle::Strategy::Exhaustive,
            executions: self.max_iterations,
            seed: 0,
            draws: match self.allow_random_data {
                true => Draws::Fixed(SEED),
                false => Draws::Refused,
            },
            may_enumerate: true,
        })
    }
}
