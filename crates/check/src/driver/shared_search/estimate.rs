//! The estimated size of a shared search, made in the process of the front end while it waits for results.
//!
//! Its runs are samples from the root of the search tree. They count neither as executions nor against a limit of the
//! search, and what fails in one of them is left for a worker to find.

use raddle_engine::{Exploration, strategy};
use raddle_report::Estimate;

use crate::driver::phases::{self, Budget, Patience};
use crate::driver::worker::Worker;
use crate::driver::workers::Job;
use crate::persist::events;
use crate::runtime::watchdog;
use crate::settings::checker::Checker;

/// Number of runs between two looks for a message: few, because an execution may be slow and the search may have ended.
const RUNS: u64 = 8;

/// Estimates the number of classes; `None` if `is_over` is true before there is a result, or if there is none that is
/// known to be precise.
pub(super) fn estimate(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    mut is_over: impl FnMut() -> bool,
) -> Option<Estimate> {
    let checker = &Checker {
        max_executions: None,
        max_time: None,
        ..job.checker.clone()
    };
    let sampling = strategy::Sampling {
        seed: checker.seed,
        after: 0,
        runs: phases::SOON,
    };
    let search = phases::exhaustive(checker).sampling(sampling);
    let exploration = Exploration::new(search, checker.limits());
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(&worker.context.places());
    let mut own = Worker::new(checker, context, job.fatal, job.deadline);
    let _watch = watchdog::watch(&own.context, checker.watchdog, job.deadline);
    while !is_over() && !events::is_interrupted() && own.report.failures.is_empty() {
        let runs = own.context.with_exploration(|e| e.runs());
        let budget = Budget {
            executions: runs + RUNS,
            of_all: u64::MAX,
            until: None,
            patience: Patience::Slice,
        };
        let has_ended = own.explore(job.body, job.place, &budget, "exhaustive");
        let estimate = own.context.with_exploration(|e| e.estimate());
        if estimate.is_some() || has_ended {
            return estimate.filter(|it| !it.is_rough).map(Into::into);
        }
    }
    None
}
