//! Several workers find what one finds.

use std::collections::{BTreeSet, HashSet};

use raddle::{Checker, Report, Strategy};
use raddle_tests::published::PROGRAMS;

/// The classes of a program, and the report.
fn search(workers: usize, program: impl Fn() + Send + Sync) -> (HashSet<u64>, Report) {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .workers(workers)
        .keep_going(true)
        .shorten(false);
    let mut classes = HashSet::new();
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        assert!(
            classes.insert(execution.fingerprint()),
            "a class was run twice"
        );
    });
    assert!(report.exhausted, "{report}");
    assert_eq!(report.executions, classes.len() as u64);
    assert_eq!(report.classes(), report.executions);
    (classes, report)
}

fn gists(report: &Report) -> BTreeSet<String> {
    let failures = report.failures.iter();
    failures
        .map(|failure| format!("{:?}", failure.gist()))
        .collect()
}

#[test]
fn every_published_program_has_the_same_classes_with_one_two_and_four_workers() {
    for (name, published, program) in PROGRAMS {
        let (one, alone) = search(1, program);
        assert_eq!(one.len() as u64, published, "{name}");
        for workers in [2, 4] {
            let (several, report) = search(workers, program);
            assert!(one == several, "{name} with {workers} workers");
            assert_eq!(gists(&alone), gists(&report), "{name}");
        }
    }
}
