//! Ports and selections inside a check.

use raddle::{Checker, Strategy};
use raddle_tests::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};

fn enumerated(program: impl Fn() + Send + Sync) -> u64 {
    let report = Checker::new()
        .strategy(Strategy::EnumeratePrivateFirst)
        .max_executions(3_000_000)
        .run(program);
    report.assert_ok();
    assert!(report.exhausted);
    println!(
        "{} schedules, {} classes",
        report.executions,
        report.classes()
    );
    report.classes()
}

#[test]
fn small() {
    for ((p, c, s), n) in [((1, 1, 1), 1), ((2, 2, 1), 4)] {
        assert_eq!(enumerated(move || selecting_buffer(p, c, s)), n);
    }
    for ((r, w), n) in [((1, 1), 2)] {
        assert_eq!(enumerated(move || selecting_readers_and_writers(r, w)), n);
    }
}

#[test]
fn small2() {
    assert_eq!(enumerated(move || distributed_mutual_exclusion(2)), 6);
}
