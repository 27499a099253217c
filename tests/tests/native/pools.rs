//! Threads of a pool that outlive `main`: executions end when only waiting and polling threads are left, and
//! a check in which none ends has no verdict.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::rust_tests::test;
use crate::support::{EXHAUSTIVE, Finished, build, command_with, compile, run};

/// Ways to wait for work, and whether loops change nothing, so that the search can be complete.
const WAYS: [(&str, bool); 13] = [
    ("untimed", true),
    ("timedwait", false),
    ("housekeeping", false),
    ("nanosleeps", false),
    ("counts", false),
    ("yields", true),
    ("spins", true),
    ("futex", false),
    ("semaphore", true),
    ("mutex", false),
    ("polls", true),
    ("selects", true),
    ("epolls", true),
];

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| build("pools.c", "pools"));

/// Long before the limit of events a thread polls.
const FEW_EVENTS: (&str, &str) = ("RADDLE_MAX_EVENTS", "5000");

fn check(arguments: &[&str], settings: &[(&str, &str)]) -> Finished {
    let own = [("RADDLE_NATIVE", "program"), FEW_EVENTS];
    run(&PROGRAM, arguments, &[&own, settings].concat())
}

#[test]
fn an_execution_is_over_when_only_waiting_and_polling_threads_are_left() {
    let most = ("RADDLE_MAX_EXECUTIONS", "200");
    for (way, is_complete) in WAYS {
        for threads in ["1", "2"] {
            for strategy in ["exhaustive", "auto", "random", "pct"] {
                let finished = check(&[way, threads], &[most, ("RADDLE_STRATEGY", strategy)]);
                let (text, what) = (&finished.text, format!("{way} {threads} {strategy}"));
                assert_eq!(finished.code, Some(0), "{what}: {text}");
                assert!(!text.contains("cut at the limit"), "{what}: {text}");
                assert!(!text.contains(": 0 classes"), "{what}: {text}");
                if strategy == "exhaustive" && threads == "1" {
                    let claims = text.contains("pools: every behaviour was run");
                    assert_eq!(claims, is_complete, "{what}: {text}");
                }
            }
        }
    }
}

#[test]
fn work_that_main_leaves_behind_is_done_before_an_execution_is_over() {
    for (way, _) in WAYS {
        for threads in ["1", "2"] {
            for strategy in ["exhaustive", "random"] {
                let finished = check(&[way, threads, "fails"], &[("RADDLE_STRATEGY", strategy)]);
                let (text, what) = (&finished.text, format!("{way} {threads} {strategy}"));
                assert_eq!(finished.code, Some(1), "{what}: {text}");
                assert!(text.contains("the program called abort"), "{what}: {text}");
            }
        }
    }
}

#[test]
fn a_check_without_a_completed_execution_has_no_verdict() {
    let nothing = "no execution was completed, so the check has neither passed nor failed";
    for strategy in ["exhaustive", "auto", "random"] {
        let most = [
            ("RADDLE_MAX_EXECUTIONS", "20"),
            ("RADDLE_STRATEGY", strategy),
        ];
        let finished = check(&["works", "1"], &most);
        finished
            .exits(3)
            .says("one execution has more than 5000 events, because threads went on")
            .says(nothing)
            .says("help: stop and join these threads before the program ends");
    }
    let program = compile("gcc", "pools.c", "pools-too-long", &[]);
    let words = [
        "run",
        "--max-events",
        "5000",
        "--max-executions",
        "20",
        "--",
    ];
    let program = [program.to_str().unwrap(), "works", "1"];
    let finished = command_with(&[&words[..], &program].concat(), &[]);
    finished.exits(2).says(nothing);
}

#[test]
fn a_pool_of_a_rust_test_is_over_with_its_test() {
    for strategy in ["exhaustive", "random"] {
        let flags = [
            "--budget",
            "10m",
            "--max-executions",
            "100",
            "--max-events",
            "20000",
        ];
        let of = ["--strategy", strategy, "-p", "idle-pool"];
        let tests = test(&[&flags[..], &of].concat());
        assert_eq!(tests.len(), 4);
        for ((_, name), checked) in &tests {
            let outcome = match name.as_str() {
                "tests::work_that_is_left_is_done" => "failed",
                _ => "passed",
            };
            assert_eq!(checked.outcome, outcome, "{name}: {checked:#?}");
            assert_eq!(checked.finished["too_long"], 0, "{name}: {checked:#?}");
        }
    }
}

/// Samplers leave such threads where they are, which is no loss to the search beside them.
#[test]
fn a_loop_that_changes_nothing_is_stopped_without_a_loss() {
    for way in ["yields", "polls", "spins", "selects"] {
        check(&[way, "1"], &[EXHAUSTIVE]).exits(0).all_classes();
        check(&[way, "1"], &[]).exits(0).all_classes();
    }
}

/// The search moves the end of the program behind the waits of other threads, one by one.
#[test]
fn a_search_of_threads_that_poll_comes_to_an_end() {
    for way in ["nanosleeps", "yields", "untimed"] {
        let finished = check(&[way, "1"], &[EXHAUSTIVE]);
        finished.exits(0);
    }
}
