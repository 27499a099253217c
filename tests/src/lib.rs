//! Parts that the suites share: running a program under a strategy, and the programs themselves.

pub mod alternatives;
pub mod axiomatic;
pub mod bounded;
pub mod child;
pub mod compare;
mod docs;
pub mod measured;
pub mod messages;
pub mod orders;
pub mod parity;
pub mod ported;
pub mod programs;
pub mod published;
pub mod races;
pub mod random_objects;
pub mod random_program;
pub mod resumed;
pub mod shared_nodes;
pub mod suite;
mod told;
pub mod variant_graph;

use std::collections::BTreeSet;
use std::sync::Mutex;

use raddle::{Checker, Report, Strategy};
pub use told::told;

/// Runs every class of the program; panics if the search does not end or an execution fails.
pub fn classes(program: impl Fn() + Send + Sync) -> u64 {
    let report = exhaust(program);
    report.assert_ok();
    report.classes()
}

/// Runs a program without choices `n` times; panics if an execution fails.
pub fn executions(n: u32, program: impl Fn() + Send + Sync) {
    let count = classes(|| {
        raddle::choose(0..n);
        program();
    });
    assert_eq!(count, u64::from(n));
}

/// Returns the outcomes of a program without failures, and the number of classes.
pub fn outcomes<T: Ord + Send>(
    run: impl Fn(&(dyn Fn() + Send + Sync)) -> Report,
    program: impl Fn() -> T + Send + Sync,
) -> (BTreeSet<T>, u64) {
    let seen = Mutex::new(BTreeSet::new());
    let report = run(&|| {
        let outcome = program();
        seen.lock().unwrap().insert(outcome);
    });
    report.assert_ok();
    (seen.into_inner().unwrap(), report.classes())
}

/// Runs every class of the program, failures or not.
pub fn exhaust(program: impl Fn() + Send + Sync) -> Report {
    exhaust_with(Checker::new(), program)
}

/// Like [`exhaust`], without spurious wake-ups, spurious failures, time-outs and writers that block
/// readers.
pub fn exhaust_undisturbed(program: impl Fn() + Send + Sync) -> Report {
    let checker = Checker::new()
        .spurious_wakeups(false)
        .timeouts(false)
        .weak_cas(false)
        .waiting_writers(false);
    exhaust_with(checker, program)
}

/// Like [`exhaust`], with these settings. No run is added to those of the search.
pub fn exhaust_with(checker: Checker, program: impl Fn() + Send + Sync) -> Report {
    let report = checker
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .shorten(false)
        .run(program);
    assert!(report.exhausted, "the search did not come to its end");
    assert_eq!(
        report.executions,
        report.classes(),
        "one run for each class, none wasted"
    );
    report
}
