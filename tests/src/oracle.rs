//! Small programs run both ways: by the search, and schedule by schedule.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Mutex;

use raddle::{Checker, FailureKind, Report, Strategy};
use raddle_engine::ClassEntry;

/// Everything that a program can do.
pub struct Behaviour<T> {
    /// What it returned in executions that came to their end.
    pub outcomes: BTreeSet<T>,
    /// How many classes it has.
    pub classes: u64,
    /// What the search found.
    pub report: Report,
}

impl<T> Behaviour<T> {
    /// What goes wrong, in the order it was found.
    pub fn kinds(&self) -> Vec<FailureKind> {
        let failures = self.report.failures.iter();
        failures.map(|failure| failure.kind).collect()
    }
}

/// Runs every class of the program, and all its schedules; both must give the same classes and the
/// same outcomes.
pub fn behaviour<T: Ord + Debug + Send>(
    checker: &Checker,
    program: impl Fn() -> T + Send + Sync,
) -> Behaviour<T> {
    let (outcomes, classes, report) = run(checker, Strategy::Exhaustive, &program);
    let (all_outcomes, all_classes, _) = run(checker, Strategy::EnumeratePrivateFirst, &program);
    assert_eq!(outcomes, all_outcomes, "as many outcomes as by enumeration");
    assert_eq!(classes, all_classes, "the same classes as by enumeration");
    assert_eq!(report.executions, classes.len() as u64, "no class twice");
    Behaviour {
        outcomes,
        classes: report.executions,
        report,
    }
}

type Classes = BTreeSet<Vec<ClassEntry>>;

fn run<T: Ord + Send>(
    checker: &Checker,
    strategy: Strategy,
    program: &(impl Fn() -> T + Send + Sync),
) -> (BTreeSet<T>, Classes, Report) {
    let (outcomes, mut classes) = (Mutex::new(BTreeSet::new()), Classes::new());
    let body = || {
        let outcome = program();
        outcomes.lock().unwrap().insert(outcome);
    };
    let checker = checker.clone().strategy(strategy).keep_going(true);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        classes.insert(execution.class());
    });
    assert!(report.exhausted, "the search did not come to its end");
    (outcomes.into_inner().unwrap(), classes, report)
}
