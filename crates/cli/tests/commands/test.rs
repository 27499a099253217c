//! `cargo raddle test`.

use crate::support::{Finished, Step, Workspace, finish};

#[test]
fn the_tests_are_built_and_then_run() {
    let workspace = Workspace::new("the_tests_are_built_and_then_run");
    workspace.answer(Step::Build, 0, "", "built\n");
    workspace.answer(Step::Tests, 0, "all passed\n", "ran\n");
    let expected = Finished {
        code: Some(0),
        stdout: "all passed\n".to_owned(),
        stderr: "built\nran\n".to_owned(),
    };
    assert_eq!(workspace.run(&["test"]), expected);
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run\ncargo test\n    RADDLE_LOG=progress\n"
    );
}

#[test]
fn flags_become_variables_of_the_tests() {
    let workspace = Workspace::new("flags_become_variables");
    let flags = [
        "--budget",
        "30s",
        "--strategy",
        "pct",
        "--max-executions",
        "9",
        "--seed",
        "7",
        "--workers",
        "2",
        "--resume",
    ];
    let arguments = [&["test"], &flags[..]].concat();
    assert_eq!(workspace.run(&arguments).code, Some(0));
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run
cargo test
    RADDLE_LOG=progress
    RADDLE_MAX_EXECUTIONS=9
    RADDLE_MAX_TIME=30s
    RADDLE_RESUME=1
    RADDLE_SEED=7
    RADDLE_STRATEGY=pct
    RADDLE_WORKERS=2
"
    );
}

#[test]
fn variables_pass_through_unless_a_flag_sets_them() {
    let workspace = Workspace::new("variables_pass_through");
    let mut command = workspace.command(&["test", "--seed", "7"]);
    command
        .env("RADDLE_SEED", "1")
        .env("RADDLE_STRATEGY", "random")
        .env("RADDLE_LOG", "off")
        .env("NO_COLOR", "1");
    assert_eq!(finish(&mut command).code, Some(0));
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run
    NO_COLOR=1
    RADDLE_LOG=off
    RADDLE_SEED=1
    RADDLE_STRATEGY=random
cargo test
    NO_COLOR=1
    RADDLE_LOG=off
    RADDLE_SEED=7
    RADDLE_STRATEGY=random
"
    );
}

#[test]
fn packages_the_filter_and_arguments_reach_cargo_in_an_order_it_accepts() {
    let workspace = Workspace::new("packages_the_filter_and_arguments");
    let ours = ["test", "-p", "queue", "counter", "-p", "stack"];
    let cargos = ["--", "--release", "--", "--nocapture"];
    assert_eq!(workspace.run(&[&ours[..], &cargos].concat()).code, Some(0));
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run --package queue --package stack counter --release -- --nocapture
cargo test --package queue --package stack counter --release -- --nocapture
    RADDLE_LOG=progress
"
    );
}

#[test]
fn a_failed_test_is_a_finding() {
    let workspace = Workspace::new("a_failed_test");
    workspace.answer(Step::Tests, 101, "1 failed\n", "");
    let expected = Finished {
        code: Some(1),
        stdout: "1 failed\n".to_owned(),
        stderr: String::new(),
    };
    assert_eq!(workspace.run(&["test"]), expected);
}

#[test]
fn a_failed_build_is_an_error_and_nothing_runs() {
    let workspace = Workspace::new("a_failed_build");
    workspace.answer(Step::Build, 101, "", "error[E0308]: mismatched types\n");
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error[E0308]: mismatched types
error: the tests do not build
  help: cargo's messages are above
"
    );
    assert_eq!(workspace.calls(), "cargo test --no-run\n");
}

#[test]
fn tests_that_end_in_another_way_are_an_error() {
    let workspace = Workspace::new("tests_that_end_in_another_way");
    workspace.answer(Step::Tests, 2, "", "no scheduling point for 5 s\n");
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "no scheduling point for 5 s
error: the tests did not finish: cargo test ended with exit status: 2
  help: what they printed last is above
"
    );
}

#[test]
fn doc_tests_are_not_built_first_because_cargo_cannot() {
    let workspace = Workspace::new("doc_tests");
    assert_eq!(workspace.run(&["test", "--", "--doc"]).code, Some(0));
    assert_eq!(
        workspace.calls(),
        "cargo test --doc\n    RADDLE_LOG=progress\n"
    );
}

#[test]
fn a_budget_is_checked_before_anything_runs() {
    let workspace = Workspace::new("a_budget_is_checked");
    for (budget, reason) in [
        (
            "soon",
            "write a whole number and a unit: 500ms, 30s, 2m or 1h",
        ),
        ("0s", "no time is not enough: the shortest is 1ms"),
        (
            "99999999999999999999s",
            "too long to count: write a smaller number",
        ),
    ] {
        let finished = workspace.run(&["test", "--budget", budget]);
        assert_eq!(finished.code, Some(2));
        let message = format!(
            "error: invalid value '{budget}' for '--budget <TIME>': {reason}\n\n\
             For more information, try '--help'.\n"
        );
        assert_eq!(finished.stderr, message);
    }
    assert_eq!(workspace.calls(), "");
}
