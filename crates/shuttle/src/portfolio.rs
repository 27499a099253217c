//! Running a test with several schedulers at once.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::config::Config;
use crate::runner::Runner;
use crate::scheduler::{Schedule, Scheduler, Task, TaskId};

/// Runs a test with several schedulers, each on an OS thread of its own.
pub struct PortfolioRunner {
    schedulers: Vec<Box<dyn Scheduler + Send + 'static>>,
    stop_on_first_failure: bool,
    config: Config,
}

impl PortfolioRunner {
    /// Creates a runner without schedulers. With `stop_on_first_failure`, all schedulers stop when one has found a
    /// failure.
    pub fn new(stop_on_first_failure: bool, config: Config) -> Self {
        PortfolioRunner {
            schedulers: Vec::new(),
            stop_on_first_failure,
            config,
        }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(Box::new(scheduler));
    }

    /// Runs the test.
    ///
    /// # Panics
    ///
    /// With one of the failures that were found.
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let test = Arc::new(f);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stops = self.stop_on_first_failure;
        let start = |scheduler: Box<dyn Scheduler + Send>| {
            let (test, is_stopped) = (Arc::clone(&test), Arc::clone(&is_stopped));
            let config = self.config.clone();
            thread::spawn(move || {
                let scheduler = Stoppable {
                    scheduler,
                    is_stopped: Arc::clone(&is_stopped),
                };
                let runner = Runner::new(scheduler, config);
                let result = catch_unwind(AssertUnwindSafe(|| runner.run(move || test())));
                if result.is_err() && stops {
                    is_stopped.store(true, Ordering::SeqCst);
                }
                result
            })
        };
        let threads: Vec<_> = self.schedulers.into_iter().map(start).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().and_then(|result| result));
        let results: Vec<_> = results.collect();
        if let Some(panic) = results.into_iter().find_map(Result::err) {
            resume_unwind(panic);
        }
    }
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortfolioRunner")
            .field("schedulers", &self.schedulers.len())
            .field("stop_on_first_failure", &self.stop_on_first_failure)
            .field("config", &self.config)
            .finish()
    }
}

/// A scheduler that another thread can stop.
struct Stoppable {
    scheduler: Box<dyn Scheduler + Send>,
    is_stopped: Arc<AtomicBool>,
}

impl Scheduler for Stoppable {
    fn new_execution(&mut self) -> Option<Schedule> {
        let is_stopped = self.is_stopped.load(Ordering::SeqCst);
        (!is_stopped)
            .then(|| self.scheduler.new_execution())
            .flatten()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if self.is_stopped.load(Ordering::SeqCst) {
            return None;
        }
        self.scheduler
            .next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}
