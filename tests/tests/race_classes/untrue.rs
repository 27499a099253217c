//! Reports that would claim too much: a race without an effect, and one that no schedule has.

use std::collections::BTreeSet;

use raddle::{FailureKind, Level, Strategy};

use super::world::{Part, World, checker, found, run};

fn nothing(_: &World) {}

/// Returns the notes of the only report, which is not confirmed.
fn unconfirmed(first: Part, parts: &'static [Part], strategy: Strategy) -> Vec<String> {
    let checker = checker().strategy(strategy).max_executions(20_000);
    let report = checker.clone().run(|| run(first, parts, |_| ()));
    assert!(report.failures.is_empty(), "{report}");
    let kinds: Vec<_> = report.warnings.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [FailureKind::UnconfirmedRace], "{report}");
    let denied = checker
        .predictions(Level::Deny)
        .run(|| run(first, parts, |_| ()));
    assert_eq!(denied.failures[0].kind, FailureKind::UnconfirmedRace);
    report.warnings[0].notes.clone()
}

#[test]
fn a_block_whose_every_value_is_serial_is_not_called_broken() {
    // Looks first and inserts if there is nothing yet: the second look makes it benign.
    fn get(w: &World) {
        raddle::atomic_block!("get", {
            if w.get('x') == 0 {
                let mut x = w.lock('x');
                if *x == 0 {
                    *x = 7;
                }
            }
            w.get('x')
        });
    }
    for strategy in [Strategy::Auto, Strategy::Exhaustive] {
        let checker = checker().strategy(strategy);
        let report = checker.run(|| run(nothing, &[get, get], |_| ()));
        assert!(report.failures.is_empty() && report.exhausted, "{report}");
        let mut whys = BTreeSet::new();
        for warning in &report.warnings {
            assert_eq!(warning.kind, FailureKind::UnconfirmedRace);
            whys.extend(warning.notes.iter().map(String::as_str));
        }
        // The other thread may insert after the first look, and not after the insertion.
        let expected = [
            "not confirmed: every class was run, and none has these accesses in this order",
            "not confirmed: in every execution with this order, the blocks have the values of a serial order",
        ];
        assert_eq!(Vec::from_iter(whys), expected, "{report}");
    }
}

#[test]
fn a_race_that_no_schedule_has_is_reported_with_that_reason() {
    // The other thread writes only after the block, which locksets cannot know.
    const PARTS: &[Part] = &[
        |w| {
            raddle::atomic_block!("hand over", {
                w.set('x', 1);
                *w.lock('x') = 2;
            });
            w.set('y', 1);
        },
        |w| {
            if w.get('y') == 1 {
                w.add('x', 1);
            }
        },
    ];
    let notes = unconfirmed(nothing, PARTS, Strategy::Exhaustive);
    assert_eq!(
        notes,
        ["not confirmed: every class was run, and none has these accesses in this order"]
    );
}

#[test]
fn a_race_without_values_is_said_to_have_none() {
    const PARTS: &[Part] = &[
        |w| {
            raddle::atomic_block!("update", { w.set('a', w.get('a') + 1) });
        },
        |w| w.set('a', 5),
    ];
    let notes = unconfirmed(nothing, PARTS, Strategy::Exhaustive);
    assert_eq!(
        notes,
        [
            "not confirmed: no execution with this order fails, and the blocks have no values that could differ from \
          those of a serial order"
        ]
    );
}

#[test]
fn values_of_a_part_of_the_executions_confirm_nothing() {
    // Too many classes to run all.
    fn add(w: &World) {
        for _ in 0..4 {
            w.add('b', 1);
            w.add('c', 1);
        }
        raddle::atomic_block!("add", {
            let old = w.get('a');
            w.set('a', old + 1);
            old
        });
    }
    let checker = checker().strategy(Strategy::Random).max_executions(6_000);
    let report = checker.run(|| run(nothing, &[add, add, add], |_| ()));
    assert!(report.failures.is_empty(), "{report}");
    assert!(!report.warnings.is_empty());
    let whys = report.warnings.iter().flat_map(|warning| &warning.notes);
    for why in whys {
        assert!(
            why.contains("not every class was run") || why.contains("were tried"),
            "{why}"
        );
    }
}

#[test]
fn addresses_are_no_values() {
    fn publish(w: &World) {
        raddle::atomic_block!("publish", {
            let old = w.get('a');
            w.set('a', old + 1);
            let block = Box::new(old);
            format!("{:p}", &*block)
        });
    }
    let report = checker().run(|| run(nothing, &[publish, publish], |_| ()));
    assert!(report.failures.is_empty(), "{report}");
    assert!(
        found(&report)
            .iter()
            .all(|one| one.kind == FailureKind::UnconfirmedRace)
    );
}
