//! The programs under raddle.

use std::time::Duration;

use raddle::{Checker, Strategy};

use crate::measure::Batch;

crate::programs::programs!(raddle);

/// No time limit: the number of executions limits a batch.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);

/// A check with this number of random executions.
pub(crate) fn sampling(executions: u64) -> Checker {
    Checker::new()
        .strategy(Strategy::Random)
        .max_executions(executions)
        .max_time(NO_LIMIT)
}

/// Batches of random executions, each batch from another seed.
pub(crate) fn random(program: Program) -> Batch<'static> {
    let body = counted(program);
    let mut seed = 0;
    Box::new(move |executions| {
        let before = body.count();
        sampling(executions)
            .seed(seed)
            .run(|| body.run())
            .assert_ok();
        seed += 1;
        body.count() - before
    })
}

/// One execution of a program.
pub(crate) fn body(program: Program) -> impl Fn() + Send + Sync {
    let body = counted(program);
    move || body.run()
}

/// Runs random executions and calls `at_start` at the start of each.
pub(crate) fn random_with(program: Program, executions: u64, at_start: impl Fn(u64) + Send + Sync) {
    let body = counted(program);
    let run = || {
        at_start(body.count());
        body.run();
    };
    sampling(executions).run(run).assert_ok();
}

/// Runs the whole search and returns its number of classes. It has no limit, because a search with
/// one estimates its size, and those executions are not part of the work.
pub(crate) fn exhaust(program: Program) -> u64 {
    let body = counted(program);
    let check = Checker::new().strategy(Strategy::Exhaustive);
    let report = check.run(|| body.run());
    report.assert_ok();
    assert_eq!(
        report.classes(),
        body.count(),
        "{program}: one execution for each class"
    );
    report.classes()
}
