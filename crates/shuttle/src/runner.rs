//! Running a test.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use raddle::{Checker, FailureKind, Strategy};
use raddle_check::runtime;

use crate::config::{Config, MaxSteps};
use crate::current::{Draws, with_state};
use crate::failure::conclude;
use crate::scheduler::{Driven, Guarded, Scheduler, as_shuttle, drive};

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
        let own = scheduler.__own().filter(|_| max_steps.is_none());
        let Some(own) = own else {
            let guarded = Guarded::new(Driven::new(scheduler, max_steps));
            let checker = drive(checker, &guarded);
            let run = || checker.run(body(f, Draws::Scheduler, false));
            let report = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                // A panic of the scheduler fails the test as it is.
                let own = guarded.on_owner(Driven::take_panic).flatten();
                resume_unwind(own.unwrap_or(panic))
            });
            conclude(&report, &config);
            return guarded
                .on_owner(|driven| driven.executions)
                .unwrap_or_default();
        };
        if own.may_enumerate {
            checker = as_shuttle(checker);
        }
        checker = checker.strategy(own.strategy).seed(own.seed);
        match own.executions {
            Some(0) => return 0,
            Some(executions) => checker = checker.max_executions(executions as u64),
            None => {}
        }
        let body = body(f, own.draws, own.may_enumerate);
        let mut report = checker.clone().run(&body);
        let differs = |failure: &raddle::Failure| failure.kind == FailureKind::Nondeterminism;
        if own.may_enumerate && report.failures.first().is_some_and(differs) {
            let schedules = checker.strategy(Strategy::Enumerate);
            report = schedules.run(&body);
        }
        conclude(&report, &config);
        (report.executions + report.discarded) as usize
    }
}

/// Returns the body of the check.
fn body(f: impl Fn() + Send + Sync, draws: Draws, is_search: bool) -> impl Fn() + Send + Sync {
    move || {
        with_state(|state| {
            state.draws = draws;
            state.is_search = is_search;
        });
        if let Some(context) = runtime::current() {
            context.check_last_destructors();
        }
        f();
    }
}
