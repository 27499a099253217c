//! The orders of each class against plain enumeration of all schedules, on random programs: exactly the orders in which
//! the enumeration runs it.
//!
//! Properties of labelled events are judged over these orders: a missing one would be a violation that is not found.

use std::collections::{HashMap, HashSet};

use raddle::{Checker, Memory, Strategy};
use raddle_engine::behaviour::order::ClassOrder;
use raddle_engine::memory::Model;
use raddle_engine::{Execution, ThreadPath};
use raddle_tests::random_program::Program;
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 4_000;

/// An order of events, each by its thread and its number there.
type Order = Vec<(ThreadPath, u32)>;
/// The orders of each class, by its fingerprint.
type Orders = HashMap<u64, HashSet<Order>>;

fn model(memory: Memory) -> Model {
    match memory {
        Memory::Sc => Model::Sc,
        _ => Model::Rc11,
    }
}

fn order(execution: &Execution, positions: impl IntoIterator<Item = usize>) -> Order {
    let name = |position: usize| {
        let event = execution.events[position].id;
        (execution.path(event.thread), event.index)
    };
    positions.into_iter().map(name).collect()
}

/// Every order in which the enumeration runs each class; `None` if there are too many schedules.
pub(crate) fn enumerated(checker: Checker, body: impl Fn() + Send + Sync) -> Option<Orders> {
    let mut orders = Orders::new();
    let checker = checker
        .strategy(Strategy::Enumerate)
        .max_executions(MAX_SCHEDULES);
    let checker = checker.keep_going(true).shorten(false);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        let order = order(execution, 0..execution.events.len());
        orders
            .entry(execution.fingerprint())
            .or_default()
            .insert(order);
    });
    report.exhausted.then_some(orders)
}

/// Every order of each class that the search runs, and true if all of them are exact.
pub(crate) fn of_classes(
    checker: Checker,
    memory: Memory,
    body: impl Fn() + Send + Sync,
) -> (Orders, bool) {
    let (mut orders, mut is_exact) = (Orders::new(), true);
    let checker = checker
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .shorten(false);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        let class = ClassOrder::of(execution, model(memory));
        is_exact &= class.is_exact();
        // A weak class may have more orders than schedules.
        let all = class
            .all(50 * MAX_SCHEDULES as usize)
            .expect("not too many orders");
        let all = all.into_iter().map(|positions| order(execution, positions));
        orders.insert(execution.fingerprint(), all.collect());
    });
    assert!(report.exhausted);
    (orders, is_exact)
}

/// Compares both; returns `None` if there are too many schedules, and else whether the orders are exact, and their number.
pub(crate) fn compared(
    checker: &Checker,
    memory: Memory,
    body: impl Fn() + Send + Sync,
) -> Option<(bool, usize)> {
    let expected = enumerated(checker.clone(), &body)?;
    let (found, is_exact) = of_classes(checker.clone(), memory, &body);
    assert_eq!(expected.len(), found.len(), "the classes differ");
    for (class, expected) in &expected {
        let found = &found[class];
        for order in expected {
            assert!(found.contains(order), "the class lacks the order {order:?}");
        }
        if is_exact {
            for order in found {
                assert!(
                    expected.contains(order),
                    "no schedule has the order {order:?}"
                );
            }
        }
    }
    Some((is_exact, found.values().map(HashSet::len).sum()))
}

#[test]
fn random_programs_have_the_orders_of_all_their_schedules() {
    let (mut exact, mut orders) = (0, 0);
    let suite = Suite::new(150, 21);
    suite.run(Program::random, |program, _| {
        let checker = program.checker(Strategy::Exhaustive);
        match compared(&checker, program.memory, || program.run()) {
            Some((is_exact, count)) => {
                exact += u32::from(is_exact);
                orders += count;
                Verdict::Agreed
            }
            None => Verdict::Skipped,
        }
    });
    println!("{exact} programs with exact orders, {orders} orders");
    assert!(!suite.is_usual() || exact > 60 && orders > 10_000);
}
