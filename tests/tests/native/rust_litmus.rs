//! Litmus tests in std's atomics, next to the same files with raddle's types: as many classes and the same
//! outcomes, under both memory models.

use std::collections::BTreeSet;

use raddle::{Checker, Memory};
use raddle_tests::{exhaust_with, outcomes};

use crate::rust_tests::{Tests, test};
use crate::rust_twins::{litmus, programs};

type Program = fn() -> u32;

const PROGRAMS: [(&str, Program); 14] = [
    ("mp_relaxed", litmus::mp_relaxed),
    ("mp_released", litmus::mp_released),
    ("mp_fenced", litmus::mp_fenced),
    ("sb_relaxed", litmus::sb_relaxed),
    ("sb_ordered", litmus::sb_ordered),
    ("sb_fenced", litmus::sb_fenced),
    ("lb_relaxed", litmus::lb_relaxed),
    ("corr", litmus::corr),
    ("two_plus_two", litmus::two_plus_two),
    ("iriw_relaxed", litmus::iriw_relaxed),
    ("iriw_ordered", litmus::iriw_ordered),
    ("release_sequence", litmus::release_sequence),
    ("broken_sequence", litmus::broken_sequence),
    ("exchanges", litmus::exchanges),
];

/// Programs that poll channels, and whether there are as many classes in both modes. Native programs count
/// the senders of a channel in one location, so that the order in which two of them go makes classes.
const POLLS: [(&str, Program, bool); 5] = [
    ("sender_goes", programs::sender_goes, true),
    ("senders_go", programs::senders_go, false),
    ("polled_twice", programs::polled_twice, true),
    ("polled_then_received", programs::polled_then_received, true),
    ("received_in_time", programs::received_in_time, true),
];

/// Every test of a program, and what it says: how many classes there are, and which outcomes there are of
/// those that tests say are none.
fn observed(tests: &Tests, binary: &str, program: &str) -> (u64, BTreeSet<u32>, BTreeSet<u32>) {
    let module = format!("outcomes::{program}::");
    let (mut classes, mut seen, mut asked) = (0, BTreeSet::new(), BTreeSet::new());
    for ((_, name), checked) in tests {
        let Some(name) = name.strip_prefix(&module) else {
            continue;
        };
        let Some(outcome) = name.strip_prefix("never_") else {
            classes = checked.all_classes();
            continue;
        };
        let outcome = outcome.parse().unwrap();
        asked.insert(outcome);
        match checked.failures.as_slice() {
            [] => assert_eq!(
                checked.all_classes(),
                classes_of(tests, binary, &module),
                "{name}"
            ),
            [failure] => {
                assert_eq!(failure["kind"], "Panic", "{program} {name}: {failure:#}");
                seen.insert(outcome);
            }
            several => panic!("{program} {name}: {several:#?}"),
        }
    }
    (classes, seen, asked)
}

fn classes_of(tests: &Tests, binary: &str, module: &str) -> u64 {
    tests[&(binary.to_owned(), format!("{module}runs"))].all_classes()
}

fn compare(memory: Memory, name: &str, binary: &str, programs: &[(&str, Program, bool)]) {
    let flags = [
        "--strategy",
        "exhaustive",
        "--memory",
        name,
        "-p",
        binary,
        "outcomes::",
    ];
    let tests = test(&flags);
    for &(program, run, same_classes) in programs {
        let exhaust =
            |body: &(dyn Fn() + Send + Sync)| exhaust_with(Checker::new().memory(memory), body);
        let (expected, expected_classes) = outcomes(exhaust, run);
        let (classes, seen, asked) = observed(&tests, binary, program);
        assert!(asked.len() >= 3, "{program}: {asked:?}");
        if same_classes {
            assert_eq!(classes, expected_classes, "{program}, {name}");
        }
        let expected: BTreeSet<u32> = expected.intersection(&asked).copied().collect();
        assert_eq!(seen, expected, "{program}, {name}");
    }
}

/// Litmus tests have as many classes in both modes.
fn compare_litmus(memory: Memory, name: &str) {
    compare(
        memory,
        name,
        "twins",
        &PROGRAMS.map(|(name, run)| (name, run, true)),
    );
}

/// A poll decides by the value that its own load has read, which may be an old one.
#[test]
fn polls_under_weak_memory_are_those_of_library_mode() {
    compare(Memory::Rc11, "rc11", "polls", &POLLS);
}

#[test]
fn polls_under_sequential_consistency_are_those_of_library_mode() {
    compare(Memory::Sc, "sc", "polls", &POLLS);
}

/// What the rule says: a channel is disconnected for a receiver that finds no message and knows of the end of
/// every sender; a message is received once, and before that.
#[test]
fn outcomes_of_polls_are_those_of_the_rule() {
    let possible = |run: Program| {
        let exhaust = |body: &(dyn Fn() + Send + Sync)| {
            exhaust_with(Checker::new().memory(Memory::Rc11), body)
        };
        outcomes(exhaust, run).0
    };
    let expected: [(Program, &[u32]); 5] = [
        (programs::sender_goes, &[10, 11, 21]),
        (programs::senders_go, &[10, 11, 21]),
        (programs::polled_twice, &[1, 2, 10, 11]),
        (programs::polled_then_received, &[2, 10]),
        (programs::received_in_time, &[2, 10]),
    ];
    for ((name, ..), (run, outcomes)) in POLLS.iter().zip(expected) {
        let outcomes: BTreeSet<u32> = outcomes.iter().copied().collect();
        assert_eq!(possible(run), outcomes, "{name}");
    }
}

#[test]
fn weak_memory_is_that_of_library_mode() {
    compare_litmus(Memory::Rc11, "rc11");
}

#[test]
fn sequential_consistency_is_that_of_library_mode() {
    compare_litmus(Memory::Sc, "sc");
}

/// The weak outcomes by the axioms: finds an error that both modes have in common.
#[test]
fn weak_outcomes_are_those_of_the_axioms() {
    let weak = |program: Program| {
        let exhaust = |body: &(dyn Fn() + Send + Sync)| {
            exhaust_with(Checker::new().memory(Memory::Rc11), body)
        };
        outcomes(exhaust, program).0
    };
    let has = |program: &str, outcome: u32| {
        let (_, run) = PROGRAMS.iter().find(|(name, _)| *name == program).unwrap();
        weak(*run).contains(&outcome)
    };
    let allowed = [
        ("mp_relaxed", 10, true),
        ("mp_released", 10, false),
        ("mp_fenced", 10, false),
        ("sb_relaxed", 0, true),
        ("sb_ordered", 0, false),
        ("sb_fenced", 0, false),
        ("lb_relaxed", 11, false),
        ("corr", 21, false),
        ("two_plus_two", 11, true),
        ("iriw_relaxed", 1010, true),
        ("iriw_ordered", 1010, false),
        ("release_sequence", 20, false),
        ("broken_sequence", 20, true),
        ("exchanges", 0, false),
    ];
    for (program, outcome, is_allowed) in allowed {
        assert_eq!(has(program, outcome), is_allowed, "{program} {outcome}");
    }
}
