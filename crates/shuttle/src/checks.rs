//! Functions that run a test with one of the schedulers.

use std::path::Path;

use crate::config::Config;
use crate::runner::Runner;
use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident($f:ident $(, $argument:ident: $type:ty)*) { $scheduler:expr })*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<F>($f: F $(, $argument: $type)*)
        where
            F: Fn() + Send + Sync + 'static,
        {
            Runner::new($scheduler, Config::new()).run($f);
        }
    )*};
}

checks! {
    /// Runs `f` once; each task in turn performs one operation.
    check(f) { RoundRobinScheduler::new(1) }

    /// Runs `f` with random schedules.
    check_random(f, iterations: usize) { RandomScheduler::new(iterations) }

    /// Runs `f` with random schedules that follow from the seed.
    check_random_with_seed(f, seed: u64, iterations: usize) {
        RandomScheduler::new_from_seed(seed, iterations)
    }

    /// Runs `f` with random schedules, each about as likely as the others.
    check_urw(f, iterations: usize) { UrwRandomScheduler::new(iterations) }

    /// Runs `f` with random priorities that change `depth` - 1 times.
    check_pct(f, iterations: usize, depth: usize) { PctScheduler::new(depth, iterations) }

    /// Runs `f` with every schedule, or this many of them.
    check_dfs(f, max_iterations: Option<usize>) { DfsScheduler::new(max_iterations, false) }

    /// Runs `f` twice with each of several random schedules, and fails if the two runs differ.
    check_uncontrolled_nondeterminism(f, max_iterations: usize) {
        UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(max_iterations))
    }

    /// Runs `f` with the schedule of a failure.
    replay(f, encoded_schedule: &str) { ReplayScheduler::new_from_encoded(encoded_schedule) }
}

/// Runs `f` with the schedule in a file.
///
/// # Panics
///
/// If the file has none.
#[track_caller]
pub fn replay_from_file<F, P>(f: F, path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    let scheduler =
        ReplayScheduler::new_from_file(path).expect("could not load schedule from file");
    Runner::new(scheduler, Config::new()).run(f);
}
