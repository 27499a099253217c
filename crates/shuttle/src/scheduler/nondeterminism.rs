//! Each schedule twice.

use super::{Schedule, Scheduler, Task, TaskId};

/// One call of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Task {
        runnable: Vec<TaskId>,
        is_yielding: bool,
        chosen: Option<TaskId>,
    },
    Random(u64),
}

/// Runs each schedule of another scheduler twice, and fails if the program behaves differently.
#[derive(Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S: Scheduler> {
    scheduler: Box<S>,
    is_second: bool,
    recorded: Vec<Step>,
    steps: usize,
}

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Wraps a scheduler.
    pub fn new(scheduler: S) -> Self {
        UncontrolledNondeterminismCheckScheduler {
            scheduler: Box::new(scheduler),
            is_second: true,
            recorded: Vec::new(),
            steps: 0,
        }
    }

    /// Returns the next step of the first run.
    fn next(&mut self) -> &Step {
        let (steps, all) = (self.steps, self.recorded.len());
        self.steps += 1;
        self.recorded.get(steps).unwrap_or_else(|| {
            panic!(
                "possible nondeterminism: current execution should have ended after {all} steps, whereas \
                 current step count is {steps}"
            )
        })
    }
}

impl<S: Scheduler> Scheduler for UncontrolledNondeterminismCheckScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let steps = std::mem::take(&mut self.steps);
        self.is_second = !self.is_second;
        if self.is_second {
            return Some(Schedule::new(0));
        }
        let all = self.recorded.len();
        assert!(
            steps == all,
            "possible nondeterminism: current execution ended earlier than expected (expected length {all} \
             but ended after {steps})"
        );
        self.recorded.clear();
        self.scheduler.new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let now: Vec<TaskId> = runnable_tasks.iter().map(|task| task.id()).collect();
        if !self.is_second {
            let chosen = self
                .scheduler
                .next_task(runnable_tasks, current_task, is_yielding);
            self.recorded.push(Step::Task {
                runnable: now,
                is_yielding,
                chosen,
            });
            return chosen;
        }
        match self.next() {
            Step::Random(_) => panic!(
                "possible nondeterminism: next step was context switch, but recording expected random number \
                 generation"
            ),
            Step::Task { runnable, .. } if *runnable != now => panic!(
                "possible nondeterminism: set of runnable tasks is different than expected.\nExpected:\n\
                 {runnable:?}\nbut got:\n{now:?}"
            ),
            Step::Task {
                is_yielding: was, ..
            } if *was != is_yielding => panic!(
                "possible nondeterminism: `next_task` was called with `is_yielding` equal to {was} in the \
                 original execution, and {is_yielding} in the current execution"
            ),
            Step::Task { chosen, .. } => *chosen,
        }
    }

    fn next_u64(&mut self) -> u64 {
        if !self.is_second {
            let number = self.scheduler.next_u64();
            self.recorded.push(Step::Random(number));
            return number;
        }
        match self.next() {
            Step::Random(number) => *number,
            Step::Task { .. } => panic!(
                "possible nondeterminism: next step was random number generation, but recording expected \
                 context switch"
            ),
        }
    }
}
