//! The published examples (Hong, 2015), by the definitions and by what a check reports. Each is a program of our own.

use std::collections::BTreeSet;

use raddle::{Checker, DataSets, FailureKind, RaceModel, Strategy, SyncOrder};
use raddle_engine::race_kinds::{Detected, detect};
use raddle_engine::{DataSet, Execution};

use super::world::{Part, World, accesses, checker, found, run};

/// The kinds of race that some execution has by the definitions, as letters: D, B, M and, for a multi-data block race, X.
fn kinds(model: RaceModel, first: Part, parts: &'static [Part]) -> String {
    kinds_of(Strategy::Exhaustive, model, first, parts)
}

fn kinds_of(strategy: Strategy, model: RaceModel, first: Part, parts: &'static [Part]) -> String {
    let mut kinds = BTreeSet::new();
    each_of(strategy, first, parts, |execution, sets| {
        let Detected {
            uses,
            data,
            block,
            multi_data,
            multi_data_block,
        } = detect(execution, model, sets);
        // Only uses of the variables count: the first and the last part are ordered with all others.
        assert!(!uses.is_empty());
        assert!(
            data.is_subset(&multi_data),
            "a data race is a multi-data race"
        );
        assert!(
            block.is_subset(&multi_data_block),
            "a block race is one of several variables"
        );
        let own = |several: usize, one: usize| several > one;
        kinds.extend((!data.is_empty()).then_some('D'));
        kinds.extend((!block.is_empty()).then_some('B'));
        kinds.extend(own(multi_data.len(), data.len()).then_some('M'));
        kinds.extend(own(multi_data_block.len(), block.len()).then_some('X'));
    });
    kinds.into_iter().collect()
}

/// Passes on every class of a program.
fn each(first: Part, parts: &'static [Part], see: impl FnMut(&Execution, &[DataSet]) + Send) {
    each_of(Strategy::Exhaustive, first, parts, see);
}

fn each_of(
    strategy: Strategy,
    first: Part,
    parts: &'static [Part],
    mut see: impl FnMut(&Execution, &[DataSet]) + Send,
) {
    let checker = checker().strategy(strategy).keep_going(true).shorten(false);
    raddle::__private::run_observed(
        checker,
        || run(first, parts, |_| ()),
        &mut |execution: &Execution| {
            let sets = execution.declared.as_ref().map(|it| it.sets.clone());
            see(execution, &sets.unwrap_or_default());
        },
    );
}

fn by(order: SyncOrder) -> RaceModel {
    let mut model = RaceModel::default();
    model.order = order;
    model
}

const ORDERS: [SyncOrder; 3] = [
    SyncOrder::Lockset,
    SyncOrder::HappensBefore,
    SyncOrder::Timestamp,
];

/// The kinds by locksets, by happens-before and by the order of the run, over all classes.
fn all_kinds(first: Part, parts: &'static [Part]) -> [String; 3] {
    ORDERS.map(|order| kinds(by(order), first, parts))
}

fn nothing(_: &World) {}

#[test]
fn a_lockset_sees_the_race_that_an_order_of_critical_sections_hides() {
    const PARTS: &[Part] = &[
        |w| {
            w.set('p', 1);
            let _m = w.hold('m');
            w.set('q', 1);
        },
        |w| {
            let _m = w.hold('m');
            w.set('q', 2);
            w.set('p', 2);
        },
    ];
    let mut by_order = Vec::new();
    for order in ORDERS {
        each(nothing, PARTS, |execution, sets| {
            // The published run: the first thread, then the second.
            let writers = execution.accesses.iter().filter(|(_, it)| it.writes);
            let first: Vec<_> = writers.map(|(_, it)| it.thread.index()).collect();
            if first != [1, 1, 2, 2] {
                return;
            }
            let found = detect(execution, by(order), sets);
            let cells: BTreeSet<_> = found
                .data
                .iter()
                .map(|[one, _]| found.uses[*one].datum)
                .collect();
            by_order.push((order, cells.len()));
        });
    }
    by_order.sort_by_key(|(order, _)| ORDERS.iter().position(|it| it == order));
    by_order.dedup();
    // A race of one cell, and none of the cell that the lock protects.
    assert_eq!(
        by_order,
        [
            (SyncOrder::Lockset, 1),
            (SyncOrder::HappensBefore, 0),
            (SyncOrder::Timestamp, 0)
        ]
    );
}

#[test]
fn an_unprotected_withdrawal_is_a_data_race_and_a_block_race() {
    fn withdraw(w: &World) {
        raddle::atomic_block!("withdraw", {
            raddle::thread::yield_now();
            let has_enough = w.get('p') >= 10;
            raddle::thread::yield_now();
            if has_enough {
                w.set('p', w.get('p') - 10);
            }
            has_enough
        });
    }
    // Accesses of cells are no operations, so classes do not tell their orders apart; schedules do.
    let kinds = ORDERS.map(|order| {
        let parts: &[Part] = &[withdraw, withdraw];
        kinds_of(Strategy::Enumerate, by(order), |w| w.set('p', 10), parts)
    });
    assert_eq!(kinds, ["BD", "BD", "B"]);
}

#[test]
fn a_withdrawal_in_two_critical_sections_is_a_block_race_only() {
    fn withdraw(w: &World) {
        raddle::atomic_block!("withdraw", {
            let has_enough = w.get('x') >= 10;
            if has_enough {
                w.add('x', -10);
            }
            has_enough
        });
    }
    const FIRST: Part = |w| w.set('x', 10);
    // Happens-before of a run shows it in the runs that have it.
    assert_eq!(all_kinds(FIRST, &[withdraw, withdraw]), ["B", "B", "B"]);
    let report = checker().run(|| run(FIRST, &[withdraw, withdraw], |_| ()));
    assert_eq!(report.failures[0].kind, FailureKind::BlockRace, "{report}");
    assert_eq!(
        accesses(&report.failures[0]),
        "A reads x, B writes x, A writes x"
    );
}

/// The balance is `x`, the debt is `y`, and one of them is 0.
fn deposit(w: &World) {
    raddle::atomic_block!("deposit", {
        if w.get('y') == 0 {
            w.add('x', 10);
        }
    });
}

fn withdraw(w: &World) {
    raddle::atomic_block!("withdraw", {
        if w.get('x') == 0 {
            w.add('y', 5);
        }
    });
}

fn one_is_zero(w: &World) {
    let both = [w.get('x'), w.get('y')];
    assert!(both.contains(&0), "balance and debt: {both:?}");
}

#[test]
fn checks_and_updates_under_two_locks_are_a_multi_data_race() {
    fn deposit_alone(w: &World) {
        if w.get('y') == 0 {
            w.add('x', 10);
        }
    }
    fn withdraw_alone(w: &World) {
        if w.get('x') == 0 {
            w.add('y', 5);
        }
    }
    const FIRST: Part = |w| w.locked_set(['x', 'y']);
    let kinds = all_kinds(FIRST, &[deposit_alone, withdraw_alone]);
    assert_eq!(kinds[0], "M");
    assert_eq!(kinds[2], "", "a run orders everything");
    // With blocks it is a race in these, too.
    assert_eq!(all_kinds(FIRST, &[deposit, withdraw])[0], "MX");
    let program = || run(FIRST, &[deposit_alone, withdraw_alone], one_is_zero);
    let report = checker().run(program);
    assert_eq!(report.failures[0].kind, FailureKind::Panic, "{report}");
    let race = report.failures[0].race.as_ref().expect("the race is named");
    assert_eq!(race.kind, FailureKind::MultiDataRace);
    assert_eq!(race.set.as_deref(), Some("set"));
}

/// One lock for everything, and a deposit in two critical sections.
fn deposit_in_two(w: &World) {
    raddle::atomic_block!("deposit", {
        let has_debt = {
            let _m = w.hold('m');
            w.get('y') != 0
        };
        if !has_debt {
            let _m = w.hold('m');
            w.add('x', 10);
        }
    });
}

fn withdraw_in_one(w: &World) {
    let _m = w.hold('m');
    if w.get('x') == 0 {
        w.add('y', 5);
    }
}

#[test]
fn a_check_and_an_update_in_two_critical_sections_are_a_multi_data_block_race_only() {
    const FIRST: Part = |w| w.locked_set(['x', 'y']);
    const PARTS: &[Part] = &[deposit_in_two, withdraw_in_one];
    assert_eq!(all_kinds(FIRST, PARTS), ["X", "X", "X"]);
    let report = checker().run(|| run(FIRST, PARTS, one_is_zero));
    let race = report.failures[0].race.as_ref().expect("the race is named");
    assert_eq!(race.kind, FailureKind::MultiDataBlockRace, "{report}");
    assert_eq!(
        accesses(&report.failures[0]),
        "A reads y, B reads x, B writes y, A writes x"
    );
}

#[test]
fn one_access_of_each_thread_is_a_data_race_and_no_block_race() {
    const PARTS: &[Part] = &[
        |w| {
            raddle::atomic_block!("read", { w.get('p') });
        },
        |w| w.set('p', 1),
    ];
    assert_eq!(all_kinds(nothing, PARTS), ["D", "D", ""]);
}

#[test]
fn kinds_overlap_and_none_of_two_includes_the_other() {
    let of = |first, parts| kinds(RaceModel::default(), first, parts);
    // A data race that is no block race, and the other way round.
    assert_eq!(of(nothing, &[|w| w.set('p', 1), |w| w.set('p', 2)]), "D");
    const TWICE: &[Part] = &[
        |w| {
            raddle::atomic_block!("twice", { w.get('x') + w.get('x') });
        },
        |w| w.set('x', 1),
    ];
    assert_eq!(of(nothing, TWICE), "B");
}

#[test]
fn two_writes_around_a_write_conflict_unless_they_overwrite_it() {
    const PARTS: &[Part] = &[
        |w| {
            raddle::atomic_block!("write", {
                w.set('a', 1);
                w.set('a', 2);
            });
        },
        |w| w.set('a', 3),
    ];
    let with = |words: &str| kinds(words.parse().unwrap(), nothing, PARTS);
    assert_eq!(["view", "writes", "reads"].map(with), ["", "B", "B"]);
    const READERS: &[Part] = &[
        |w| {
            raddle::atomic_block!("read", { w.get('a') + w.get('a') });
        },
        |w| {
            w.get('a');
        },
    ];
    let with = |words: &str| kinds(words.parse().unwrap(), nothing, READERS);
    assert_eq!(["view", "writes", "reads"].map(with), ["", "", "B"]);
}

#[test]
fn sets_are_declared_or_used_together() {
    const PARTS: &[Part] = &[deposit_in_two, withdraw_in_one];
    let with = |words: &str| kinds(words.parse().unwrap(), nothing, PARTS);
    assert_eq!(["used-together", "declared-sets"].map(with), ["X", ""]);
    assert_eq!(RaceModel::default().data, DataSets::UsedTogether);
}

#[test]
fn a_critical_section_is_a_block_on_request() {
    const PARTS: &[Part] = &[
        |w| {
            let _m = w.hold('m');
            w.set('a', w.get('a') + 1);
        },
        |w| w.set('a', 5),
    ];
    let with = |words: &str| kinds(words.parse().unwrap(), nothing, PARTS);
    assert_eq!(
        ["declared-blocks", "critical-sections"].map(with),
        ["", "B"]
    );
    let last: Part = |w| assert_ne!(w.get('a'), 1, "the other thread's value is lost");
    let model = "critical-sections".parse().unwrap();
    let report = checker()
        .race_model(model)
        .run(move || run(nothing, PARTS, last));
    assert_eq!(
        accesses(&report.failures[0]),
        "A reads a, B writes a, A writes a"
    );
}

#[test]
fn nothing_is_looked_for_unless_predictions_are_on() {
    fn withdraw(w: &World) {
        raddle::atomic_block!("withdraw", {
            let has_enough = w.get('x') >= 10;
            if has_enough {
                w.add('x', -10);
            }
            has_enough
        });
    }
    let program = || run(|w| w.set('x', 10), &[withdraw, withdraw], |_| ());
    let report = Checker::new().run(program);
    assert!(report.exhausted && found(&report).is_empty(), "{report}");
}
