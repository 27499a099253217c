//! The programs under loom.
//!
//! loom does not sample: a batch is a part of its search from the start, and the search again if
//! that is not enough. `Builder::check` is used rather than `loom::model`, which sets up logging
//! first.

use std::time::Duration;

use loom::model::Builder;

use crate::measure::Batch;

crate::programs::programs!(loom);

/// True when loom has enough threads for the program; main is one of them.
pub(crate) fn can_run(program: Program) -> bool {
    program.threads() < loom::MAX_THREADS
}

/// Batches of the search.
pub(crate) fn search(program: Program) -> Batch<'static> {
    let body = counted(program);
    Box::new(move |executions| {
        let before = body.count();
        let end = before + executions;
        while body.count() < end {
            // The limit is checked before each interval of executions; here before the one that
            // would be too many.
            let too_many = (end - body.count()) as usize + 1;
            let mut builder = Builder::new();
            builder.max_permutations = Some(too_many);
            builder.checkpoint_interval = too_many;
            let run = body.clone();
            builder.check(move || run.run());
        }
        body.count() - before
    })
}

/// Runs the whole search, but no longer than `cut`, and returns the number of executions.
pub(crate) fn exhaust(program: Program, cut: Duration) -> u64 {
    let body = counted(program);
    let mut builder = Builder::new();
    builder.max_duration = Some(cut);
    // Interval of checks of the limit.
    builder.checkpoint_interval = 100;
    let run = body.clone();
    builder.check(move || run.run());
    body.count()
}
