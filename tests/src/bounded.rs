//! Searches that are bounded by preemptions, next to all schedules.

use std::collections::HashMap;

use raddle::{Checker, Guarantee, Strategy};
use raddle_engine::ClassEntry;

use crate::compare::{Classes, assert_same};

/// The bounds that are compared: from none to this many.
pub const MOST: u32 = 4;

/// How many classes there are within each bound.
pub type Counts = [usize; MOST as usize + 1];

/// What each class costs.
pub type Costs = HashMap<Vec<ClassEntry>, u32>;

/// What each class costs, by running all schedules and counting the preemptions of each; `None` if
/// there are more schedules than that.
pub fn costs(
    checker: &Checker,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<Costs> {
    let mut costs = HashMap::new();
    let checker = checker
        .clone()
        .strategy(Strategy::Enumerate)
        .keep_going(true)
        .shorten(false)
        .max_executions(max_schedules);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        let (_, cost) = costs
            .entry(execution.fingerprint())
            .or_insert_with(|| (execution.class(), u32::MAX));
        *cost = execution.preemptions.min(*cost);
    });
    report.exhausted.then(|| costs.into_values().collect())
}

/// The classes that a search runs which is bounded by so many preemptions, none twice, and what it
/// promises.
pub fn bounded(
    checker: &Checker,
    most: u32,
    program: impl Fn() + Send + Sync,
) -> (Classes, Guarantee) {
    let mut classes = Classes::new();
    let checker = checker
        .clone()
        .strategy(Strategy::Exhaustive)
        .preemptions(most)
        .keep_going(true)
        .shorten(false);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        assert!(classes.insert(execution.class()), "a class was run twice");
    });
    assert_eq!(report.executions, classes.len() as u64);
    assert_eq!(report.classes(), classes.len() as u64);
    assert_eq!(
        report.exhausted,
        report.guarantee() == Guarantee::Exhaustive
    );
    (classes, report.guarantee())
}

/// How many classes each bound leaves, the same by the search and by all schedules; `None` if there
/// are more schedules than that.
pub fn same_costs(
    checker: &Checker,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<Counts> {
    let costs = costs(checker, max_schedules, &program)?;
    let mut counts = Counts::default();
    for (most, count) in (0..).zip(&mut counts) {
        let cheap = costs.iter().filter(|&(_, &cost)| cost <= most);
        let expected: Classes = cheap.map(|(class, _)| class.clone()).collect();
        let (found, guarantee) = bounded(checker, most, &program);
        assert_same(&expected, &found);
        // That nothing was left out is not always noticed: what assumptions discard may be.
        if expected.len() < costs.len() {
            assert_eq!(guarantee, Guarantee::Bounded { preemptions: most });
        }
        *count = found.len();
    }
    Some(counts)
}

/// Adds what one program has to the sums over all of them.
pub fn add(sums: &mut Counts, counts: Counts) {
    sums.iter_mut()
        .zip(counts)
        .for_each(|(sum, count)| *sum += count);
}
