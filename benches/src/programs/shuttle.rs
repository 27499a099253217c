//! The programs under shuttle.

use std::time::Duration;

use shuttle::scheduler::{DfsScheduler, RandomScheduler};
use shuttle::{Config, Runner};

use crate::measure::Batch;

crate::programs::programs!(shuttle);

fn config() -> Config {
    let mut config = Config::new();
    config.silence_warnings = true;
    config
}

/// One execution of an empty program.
pub(crate) fn run_nothing() {
    Runner::new(RandomScheduler::new_from_seed(0, 1), config()).run(|| {});
}

/// Batches of random executions, each batch from another seed.
pub(crate) fn random(program: Program) -> Batch<'static> {
    let body = counted(program);
    let mut seed = 0;
    Box::new(move |executions| {
        let before = body.count();
        let scheduler = RandomScheduler::new_from_seed(seed, executions as usize);
        let run = body.clone();
        Runner::new(scheduler, config()).run(move || run.run());
        seed += 1;
        body.count() - before
    })
}

/// Runs the whole search, but no longer than `cut`, and returns the number of executions.
pub(crate) fn exhaust(program: Program, cut: Duration) -> u64 {
    let body = counted(program);
    let mut config = config();
    config.max_time = Some(cut);
    let run = body.clone();
    Runner::new(DfsScheduler::new(None, false), config).run(move || run.run());
    body.count()
}
