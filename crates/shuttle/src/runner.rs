//! Running a test.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::Duration;

use raddle::{Checker, FailureKind, Report};
use raddle_check::runtime;

use crate::config::{Config, MaxSteps};
use crate::current::{Draws, TaskId, trace, with_state};
use crate::failure::conclude;
use crate::scheduler::{Driven, EverySchedule, Guarded, Scheduler, as_shuttle, drive};

/// Bytes of stack of each task, at least.
const MIN_STACK_SIZE: usize = 256 << 10;

/// Time limit of a test that has none.
const NO_TIME_LIMIT: Duration = Duration::from_secs(1 << 32);

/// Runs a test with a scheduler.
#[derive(Debug)]
pub struct Runner<S: Scheduler> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// Creates a runner.
    pub fn new(scheduler: S, config: Config) -> Self {
        Runner { scheduler, config }
    }

    /// Runs the test and returns the number of executions.
    ///
    /// # Panics
    ///
    /// With the story of the first failure.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let config = self.config.clone();
        let (report, executions) = self.check(f, Location::caller());
        trace::finished(executions);
        if let Some(report) = report {
            conclude(&report, &config);
        }
        executions
    }

    /// Runs the test. Returns the report, unless there is no execution, and the number of executions.
    #[track_caller]
    fn check<F>(self, f: F, place: &'static Location<'static>) -> (Option<Report>, usize)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let Runner { scheduler, config } = self;
        let mut checker = Checker::new()
            .stack_size(config.stack_size.max(MIN_STACK_SIZE))
            .max_time(config.max_time.unwrap_or(NO_TIME_LIMIT));
        let max_steps = match config.max_steps {
            MaxSteps::None => None,
            MaxSteps::FailAfter(most) => {
                checker = checker.max_events(most);
                None
            }
            MaxSteps::ContinueAfter(most) => Some(most),
        };
        if config.max_steps == MaxSteps::None {
            checker = checker.max_events(usize::MAX);
        }
        let mut test = Test {
            f,
            draws: Draws::Scheduler,
            is_search: false,
            place,
        };
        let own = scheduler.__own().filter(|_| max_steps.is_none());
        let Some(own) = own else {
            let guarded = Guarded::new(Driven::new(scheduler, max_steps));
            let checker = drive(checker, &guarded);
            let run = || checker.run(|| test.run());
            let report = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                // A panic of the scheduler fails the test as it is.
                let own = guarded.on_owner(Driven::take_panic).flatten();
                resume_unwind(own.unwrap_or(panic))
            });
            let executions = guarded.on_owner(|driven| driven.executions);
            return (Some(report), executions.unwrap_or_default());
        };
        if own.may_enumerate {
            checker = as_shuttle(checker);
        }
        checker = checker.strategy(own.strategy).seed(own.seed);
        match own.executions {
            Some(0) => return (None, 0),
            Some(executions) => checker = checker.max_executions(executions as u64),
            None => {}
        }
        test.draws = own.draws;
        test.is_search = own.may_enumerate;
        let mut report = checker.clone().run(|| test.run());
        let differs = |failure: &raddle::Failure| failure.kind == FailureKind::Nondeterminism;
        if own.may_enumerate && report.failures.first().is_some_and(differs) {
            let schedules = checker.scheduler(|_seed, worker| EverySchedule::new(worker > 0));
            report = schedules.run(|| test.run());
        }
        let executions = (report.executions + report.discarded) as usize;
        (Some(report), executions)
    }
}

/// The test with its settings for each execution.
struct Test<F> {
    f: F,
    draws: Draws,
    is_search: bool,
    place: &'static Location<'static>,
}

impl<F: Fn()> Test<F> {
    /// Runs the main thread of an execution.
    fn run(&self) {
        with_state(|state| {
            state.draws = self.draws;
            state.is_search = self.is_search;
        });
        if let Some(context) = runtime::current() {
            context.check_last_destructors();
        }
        trace::created(TaskId::from(0), self.place);
        (self.f)();
    }
}
