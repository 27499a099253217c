//! One schedule.

use std::fs;
use std::io;
use std::path::Path;

use super::{
    DataSource, OwnStrategy, RandomDataSource, Schedule, ScheduleStep, Scheduler, Task, TaskId,
};
use crate::current::{Draws, VectorClock};

/// Runs one schedule, once: that of a failure, or a list of tasks.
#[derive(Debug)]
pub struct ReplayScheduler {
    /// The schedule of a failure.
    recorded: Option<Box<raddle::Schedule>>,
    schedule: Schedule,
    steps: usize,
    has_begun: bool,
    allow_incomplete: bool,
    data: RandomDataSource,
}

impl ReplayScheduler {
    /// Creates a scheduler for the schedule of a failure.
    ///
    /// # Panics
    ///
    /// If it is no schedule of raddle's: shuttle's own count other steps.
    pub fn new_from_encoded(encoded_schedule: &str) -> Self {
        let schedule = encoded_schedule.trim().parse();
        let schedule = schedule.unwrap_or_else(|error| {
            panic!(
                "invalid schedule: {error}\nSchedules of shuttle itself do not fit, because raddle has other \
                 steps: run the test once more for a new one."
            )
        });
        let mut scheduler = Self::new_from_schedule(Schedule::default());
        scheduler.recorded = Some(Box::new(schedule));
        scheduler
    }

    /// Creates a scheduler for the schedule in a file.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> Result<Self, io::Error> {
        Ok(Self::new_from_encoded(&fs::read_to_string(path)?))
    }

    /// Creates a scheduler for a list of tasks.
    pub fn new_from_schedule(schedule: Schedule) -> Self {
        ReplayScheduler {
            recorded: None,
            steps: 0,
            has_begun: false,
            allow_incomplete: false,
            data: RandomDataSource::initialize(schedule.seed),
            schedule,
        }
    }

    /// Allows a schedule that ends before the execution does, or that does not fit.
    pub fn set_allow_incomplete(&mut self) {
        self.allow_incomplete = true;
    }

    /// No effect: steps without an effect on the failure are left out when it is minimised.
    pub fn set_target_clock(&mut self, _clock: impl Into<VectorClock>) {}
}

impl Scheduler for ReplayScheduler {
    fn new_execution(&mut self) -> Option<Schedule> {
        if std::mem::replace(&mut self.has_begun, true) {
            return None;
        }
        Some(Schedule::new(self.data.reinitialize()))
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        _current_task: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        match self.schedule.steps.get(self.steps) {
            Some(ScheduleStep::Random) => {
                panic!("expected context switch but next schedule step is random choice")
            }
            Some(&ScheduleStep::Task(next)) if runnable_tasks.iter().any(|it| it.id() == next) => {
                self.steps += 1;
                Some(next)
            }
            _ if self.allow_incomplete => None,
            Some(ScheduleStep::Task(next)) => panic!(
                "scheduled task is not runnable, expected to run {next:?}, but choices were {runnable_tasks:?}"
            ),
            None => panic!("schedule ended early"),
        }
    }

    fn next_u64(&mut self) -> u64 {
        match self.schedule.steps.get(self.steps) {
            Some(ScheduleStep::Random) => {
                self.steps += 1;
                self.data.next_u64()
            }
            _ => panic!("expected random choice but next schedule step is context switch"),
        }
    }

    fn __own(&self) -> Option<OwnStrategy> {
        let schedule = self.recorded.as_deref()?;
        Some(OwnStrategy {
            strategy: raddle::Strategy::Replay(schedule.clone()),
            executions: None,
            seed: 0,
            draws: Draws::Scheduler,
            may_enumerate: false,
        })
    }
}
