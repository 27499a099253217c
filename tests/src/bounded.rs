//! Searches with a preemption bound, compared with all schedules.

use std::collections::HashMap;

use raddle::sync::atomic::Ordering::SeqCst;
use raddle::{Checker, Guarantee, Memory, Strategy};
use raddle_engine::{ClassEntry, Event, Execution, Operation, UpdateKind};

use crate::compare::{Classes, assert_same};

/// The bounds that are compared: from none to this many.
pub const MOST: u32 = 4;

/// Number of classes within each bound.
pub type Counts = [usize; MOST as usize + 1];

/// The cost of each class in preemptions.
pub type Costs = HashMap<Vec<ClassEntry>, u32>;

/// Returns the cost of each class, by running all schedules and counting the preemptions of each;
/// `None` if there are more schedules than the limit.
///
/// A class in which all accesses are `SeqCst` has the same cost as under sequential consistency,
/// under every memory model.
pub fn costs(
    checker: &Checker,
    memory: Memory,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<Costs> {
    let mut costs = costs_under(checker, memory, max_schedules, &program, |_| true)?;
    if memory != Memory::Sc {
        let strong = |execution: &Execution| !execution.events.iter().any(is_weak);
        costs.extend(costs_under(
            checker,
            Memory::Sc,
            max_schedules,
            &program,
            strong,
        )?);
    }
    Some(costs)
}

fn costs_under(
    checker: &Checker,
    memory: Memory,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
    counts: impl Fn(&Execution) -> bool + Sync,
) -> Option<Costs> {
    let mut costs = HashMap::new();
    let checker = checker
        .clone()
        .memory(memory)
        .strategy(Strategy::Enumerate)
        .keep_going(true)
        .shorten(false)
        .max_executions(max_schedules);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        if !counts(execution) {
            return;
        }
        let (_, cost) = costs
            .entry(execution.fingerprint())
            .or_insert_with(|| (execution.class(), u32::MAX));
        *cost = execution.preemptions.min(*cost);
    });
    report.exhausted.then(|| costs.into_values().collect())
}

fn is_weak(event: &Event) -> bool {
    match event.operation {
        Operation::Load { ordering, .. } | Operation::Store { ordering, .. } => ordering != SeqCst,
        Operation::Update {
            ordering,
            failure,
            update,
            ..
        } => {
            let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
            ordering != SeqCst || may_fail && failure != SeqCst
        }
        Operation::Fence { .. } => true,
        _ => false,
    }
}

/// Returns the classes of a search with this preemption bound, none twice, and its guarantee.
pub fn bounded(
    checker: &Checker,
    memory: Memory,
    most: u32,
    program: impl Fn() + Send + Sync,
) -> (Classes, Guarantee) {
    let mut classes = Classes::new();
    let checker = checker
        .clone()
        .memory(memory)
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

/// Returns the number of classes within each bound, the same by the search and by all schedules;
/// `None` if there are more schedules than the limit, or the search guarantees nothing.
pub fn same_costs(
    checker: &Checker,
    memory: Memory,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<Counts> {
    let costs = costs(checker, memory, max_schedules, &program)?;
    let mut counts = Counts::default();
    for (most, count) in (0..).zip(&mut counts) {
        let cheap = costs.iter().filter(|&(_, &cost)| cost <= most);
        let expected: Classes = cheap.map(|(class, _)| class.clone()).collect();
        let (found, guarantee) = bounded(checker, memory, most, &program);
        if guarantee == Guarantee::Sampled {
            // The program was found to be weak too late.
            assert_ne!(memory, Memory::Sc);
            assert!(found.is_subset(&expected));
            return None;
        }
        assert_same(&expected, &found);
        // A complete search is not always recognised: an assumption may discard a class.
        if expected.len() < costs.len() {
            assert_eq!(guarantee, Guarantee::Bounded { preemptions: most });
        }
        *count = found.len();
    }
    Some(counts)
}

/// Adds the counts of one program to the sums over all of them.
pub fn add(sums: &mut Counts, counts: Counts) {
    sums.iter_mut()
        .zip(counts)
        .for_each(|(sum, count)| *sum += count);
}
