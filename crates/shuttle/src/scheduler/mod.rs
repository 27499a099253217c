//! Schedulers: shuttle's own by name, and the trait for others.
//!
//! [`RandomScheduler`], [`PctScheduler`], [`UrwRandomScheduler`], [`DfsScheduler`] and a [`ReplayScheduler`] of an
//! encoded schedule stand for strategies of raddle's. They implement [`Scheduler`] too, for schedulers that wrap
//! them.

mod adapter;
mod data;
mod dfs;
mod every;
mod nondeterminism;
mod pct;
mod random;
mod replay;
mod round_robin;
mod urw;

use std::fmt;

pub use crate::current::TaskId;
pub(crate) use adapter::{Driven, Guarded};
pub use data::{DataSource, RandomDataSource};
pub use dfs::DfsScheduler;
pub(crate) use every::EverySchedule;
pub use nondeterminism::UncontrolledNondeterminismCheckScheduler;
pub use pct::PctScheduler;
pub use random::RandomScheduler;
pub use replay::ReplayScheduler;
pub use round_robin::RoundRobinScheduler;
pub use urw::UrwRandomScheduler;

/// Chooses the task that runs next.
///
/// A step is one operation of a task: [`next_task`](Self::next_task) is called before each.
pub trait Scheduler {
    /// Begins an execution; `None` ends the test.
    fn new_execution(&mut self) -> Option<Schedule>;

    /// Chooses one of the tasks that can run; `None` ends the execution, without a verdict.
    ///
    /// `current_task` performed the last operation, and `is_yielding` says that this was a yield.
    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId>;

    /// Draws a number for the running task.
    fn next_u64(&mut self) -> u64;

    /// Returns the strategy of raddle's that this scheduler stands for.
    #[doc(hidden)]
    fn __own(&self) -> Option<OwnStrategy> {
        None
    }
}

/// A strategy of raddle's in place of a scheduler.
#[doc(hidden)]
pub struct OwnStrategy {
    pub(crate) strategy: raddle::Strategy,
    pub(crate) executions: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) draws: crate::current::Draws,
    /// True when every schedule is run where the strategy cannot tell which of them are equivalent.
    pub(crate) may_enumerate: bool,
}

impl Scheduler for Box<dyn Scheduler + Send> {
    fn new_execution(&mut self) -> Option<Schedule> {
        (**self).new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        (**self).next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }

    fn __own(&self) -> Option<OwnStrategy> {
        (**self).__own()
    }
}

/// A task that can run.
#[derive(Clone, PartialEq, Eq)]
pub struct Task {
    id: TaskId,
    parent: Option<TaskId>,
}

impl Task {
    /// Returns the identity of the task.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the task that has created it.
    pub fn parent_task_id(&self) -> Option<TaskId> {
        self.parent
    }

    /// Returns the name of the task.
    pub fn name(&self) -> Option<String> {
        crate::current::get_name_for_task(self.id).map(String::from)
    }

    /// True: all tasks that a scheduler chooses from can run.
    pub fn runnable(&self) -> bool {
        true
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The steps of an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Steps, in order.
    pub steps: Vec<ScheduleStep>,
}

/// A step of a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// A task performs an operation.
    Task(TaskId),
    /// A random number is drawn.
    Random,
}

impl Schedule {
    /// Creates a schedule without steps.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Schedule {
            seed,
            steps: Vec::new(),
        }
    }

    /// Creates a schedule in which these tasks run one after the other.
    pub fn new_from_task_ids<T>(seed: u64, task_ids: impl IntoIterator<Item = T>) -> Self
    where
        T: Into<TaskId>,
    {
        let steps = task_ids.into_iter().map(|id| ScheduleStep::Task(id.into()));
        Schedule {
            seed,
            steps: steps.collect(),
        }
    }

    /// Adds a step of a task.
    pub fn push_task(&mut self, task: TaskId) {
        self.steps.push(ScheduleStep::Task(task));
    }

    /// Adds the draw of a random number.
    pub fn push_random(&mut self) {
        self.steps.push(ScheduleStep::Random);
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// True when there is no step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Returns the number in `SHUTTLE_RANDOM_SEED`, or else the given one.
///
/// # Panics
///
/// If the variable is no number.
fn seed_or(seed: u64) -> u64 {
    match std::env::var("SHUTTLE_RANDOM_SEED") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("`SHUTTLE_RANDOM_SEED` is not a number: {text}")),
        Err(_) => seed,
    }
}

/// Returns a seed that differs from call to call and from process to process.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// Records the scheduler `inner` and passes all calls on to it, as shuttle's does without its feature `annotation`.
#[derive(Debug)]
pub struct AnnotationScheduler<S: ?Sized + Scheduler>(Box<S>);

impl<S: Scheduler> AnnotationScheduler<S> {
    /// Wraps a scheduler.
    pub fn new(inner: S) -> Self {
        AnnotationScheduler(Box::new(inner))
    }
}

impl<S: Scheduler> Scheduler for AnnotationScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.0.next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn __own(&self) -> Option<OwnStrategy> {
        self.0.__own()
    }
}

/// Leaves out what raddle models and shuttle does not: weak memory, spurious wake-ups and failures, time-outs.
pub(crate) fn as_shuttle(checker: raddle::Checker) -> raddle::Checker {
    checker
        .memory(raddle::Memory::Sc)
        .spurious_wakeups(false)
        .timeouts(false)
        .weak_cas(false)
}

/// Makes a check use a scheduler, which can choose no more than what shuttle models.
pub(crate) fn drive<S: Scheduler + 'static>(
    checker: raddle::Checker,
    scheduler: &std::sync::Arc<Guarded<S>>,
) -> raddle::Checker {
    let scheduler = std::sync::Arc::clone(scheduler);
    as_shuttle(checker)
        .max_executions(u64::MAX)
        .scheduler(move |_seed, _worker| adapter::Adapter(std::sync::Arc::clone(&scheduler)))
}
