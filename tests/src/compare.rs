//! A program run twice, every class by the search and every schedule by plain enumeration: both
//! must find the same.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Mutex;

use raddle::{Checker, FailureKind, Report, Strategy};
use raddle_engine::ClassEntry;

/// The behaviours of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// The values that complete executions returned.
    pub outcomes: BTreeSet<T>,
    /// Number of classes.
    pub classes: usize,
    /// The failures, each once.
    pub failures: BTreeSet<String>,
}

/// Runs the program both ways; panics unless both find the same, and the search runs every class
/// once.
pub fn compared<T: Ord + Debug + Send>(
    checker: &Checker,
    program: impl Fn() -> T + Send + Sync,
) -> Found<T> {
    compare(checker, program).0
}

fn compare<T: Ord + Debug + Send>(
    checker: &Checker,
    program: impl Fn() -> T + Send + Sync,
) -> (Found<T>, Report) {
    let (all, expected, _) = run(checker, Strategy::EnumeratePrivateFirst, &program);
    let (found, classes, report) = run(checker, Strategy::Exhaustive, &program);
    assert_same(&expected, &classes);
    assert_eq!(all, found);
    assert_eq!(
        report.executions,
        classes.len() as u64,
        "a class was run twice"
    );
    (found, report)
}

/// Returns the outcomes and the number of classes of a program without failures.
pub fn outcomes<T: Ord + Debug + Send>(
    program: impl Fn() -> T + Send + Sync,
) -> (BTreeSet<T>, usize) {
    let found = compared(&Checker::new(), program);
    assert_eq!(found.failures, BTreeSet::new());
    (found.outcomes, found.classes)
}

/// All behaviours of a program, with failures.
pub struct Behaviour<T> {
    /// The values that complete executions returned.
    pub outcomes: BTreeSet<T>,
    /// Number of classes.
    pub classes: u64,
    /// The report of the search.
    pub report: Report,
}

impl<T> Behaviour<T> {
    /// Returns the kinds of failures, in the order they were found.
    pub fn kinds(&self) -> Vec<FailureKind> {
        let failures = self.report.failures.iter();
        failures.map(|failure| failure.kind).collect()
    }
}

/// Like [`compared`], with the report of the search.
pub fn behaviour<T: Ord + Debug + Send>(
    checker: &Checker,
    program: impl Fn() -> T + Send + Sync,
) -> Behaviour<T> {
    let (found, report) = compare(checker, program);
    Behaviour {
        outcomes: found.outcomes,
        classes: report.executions,
        report,
    }
}

/// Classes, each by its name.
pub type Classes = HashSet<Vec<ClassEntry>>;

/// Returns every class of a program by running all its schedules; `None` if there are more than the
/// check's limit.
pub fn enumerate(checker: Checker, program: impl Fn() + Send + Sync) -> Option<Classes> {
    // Most schedules are of a known class, which the fingerprint shows faster.
    let mut classes = HashMap::new();
    let checker = checker.keep_going(true).shorten(false);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        classes
            .entry(execution.fingerprint())
            .or_insert_with(|| execution.class());
    });
    report.exhausted.then(|| {
        let count = classes.len();
        let classes: Classes = classes.into_values().collect();
        assert_eq!(classes.len(), count, "two fingerprints for one class");
        classes
    })
}

/// Returns every class that the search finds, none twice and no discarded run, and the report.
pub fn search(checker: Checker, program: impl Fn() + Send + Sync) -> (Classes, Report) {
    walk(checker.strategy(Strategy::Exhaustive), program)
}

/// As [`search`], with another strategy that ends and runs no class twice.
pub fn walk(checker: Checker, program: impl Fn() + Send + Sync) -> (Classes, Report) {
    let mut classes = Classes::new();
    let checker = checker.keep_going(true).shorten(false);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        classes.insert(execution.class());
    });
    assert!(report.exhausted, "{report}");
    assert_eq!(
        report.executions,
        classes.len() as u64,
        "a class was run twice, or a run was in vain"
    );
    (classes, report)
}

/// Returns the number of classes, the same by the search and by enumeration, for programs that fail
/// only by deadlocks; `None` if there are more schedules than the limit.
pub fn same_classes(
    checker: &Checker,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<usize> {
    let all = checker
        .clone()
        .strategy(Strategy::EnumeratePrivateFirst)
        .max_executions(max_schedules);
    let expected = enumerate(all, &program)?;
    let (found, report) = search(checker.clone(), &program);
    assert_same(&expected, &found);
    let mut kinds = report.failures.iter().map(|failure| failure.kind);
    let waits = |kind| {
        use FailureKind::{Deadlock, LostWakeup, ThreadOutlives};
        matches!(kind, Deadlock | LostWakeup | ThreadOutlives)
    };
    assert!(kinds.all(waits), "{report}");
    Some(found.len())
}

/// Panics unless the search found the expected classes.
pub fn assert_same(expected: &Classes, found: &Classes) {
    let missing: Vec<_> = expected.difference(found).take(1).collect();
    assert!(missing.is_empty(), "missing {missing:#?}");
    let invented: Vec<_> = found.difference(expected).take(1).collect();
    assert!(invented.is_empty(), "invented {invented:#?}");
}

fn run<T: Ord + Debug + Send>(
    checker: &Checker,
    strategy: Strategy,
    program: &(impl Fn() -> T + Send + Sync),
) -> (Found<T>, Classes, Report) {
    let (seen, mut classes) = (Mutex::new(BTreeSet::new()), Classes::new());
    let body = || {
        let outcome = program();
        seen.lock().unwrap().insert(outcome);
    };
    let checker = checker.clone().strategy(strategy).keep_going(true);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        classes.insert(execution.class());
    });
    assert!(report.exhausted, "{report}");
    let found = Found {
        outcomes: seen.into_inner().unwrap(),
        classes: classes.len(),
        failures: report
            .failures
            .iter()
            .map(|failure| failure.message.clone())
            .collect(),
    };
    (found, classes, report)
}
