//! A program run twice, every class by the search and every schedule by plain enumeration: both must
//! see the same.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Mutex;

use raddle::{Checker, FailureKind, Report, Strategy};
use raddle_engine::ClassEntry;

/// What the executions of a program did.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What those that came to their end returned.
    pub outcomes: BTreeSet<T>,
    /// How many classes there are.
    pub classes: usize,
    /// What went wrong, each once.
    pub failures: BTreeSet<String>,
}

/// Runs the program both ways; panics unless both see the same, and the search sees every class
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

/// The outcomes and the number of classes of a program in which nothing goes wrong.
pub fn outcomes<T: Ord + Debug + Send>(
    program: impl Fn() -> T + Send + Sync,
) -> (BTreeSet<T>, usize) {
    let found = compared(&Checker::new(), program);
    assert_eq!(found.failures, BTreeSet::new());
    (found.outcomes, found.classes)
}

/// Everything that a program can do, failures and all.
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

/// As [`compared`], with the report of the search.
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

/// Every class of a program by running all its schedules; `None` if there are more than the check's
/// limit.
pub fn enumerate(checker: Checker, program: impl Fn() + Send + Sync) -> Option<Classes> {
    // Most schedules are of a class that was seen before, which the fingerprint tells faster.
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

/// Every class of a program as the search finds them, none twice and no run in vain; and what it
/// reports.
pub fn search(checker: Checker, program: impl Fn() + Send + Sync) -> (Classes, Report) {
    walk(checker.strategy(Strategy::Exhaustive), program)
}

/// The same with another strategy that comes to an end and runs no class twice.
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

/// How many classes a program has, the same by the search and by enumeration, where nothing goes
/// wrong but deadlocks; `None` if it has more schedules than that.
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

/// Panics unless the search found what is expected.
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
