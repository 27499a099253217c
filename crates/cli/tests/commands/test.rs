//! `cargo raddle test`.

use std::fs;

use serde_json::json;

use crate::events::{failing, lines, passing};
use crate::support::{Step, Workspace, finish};

#[test]
fn tests_are_built_and_run_one_by_one() {
    let workspace = Workspace::new("the_tests_are_built");
    workspace.build(&["one", "two"]);
    workspace.test("one", 0, &passing("2 classes"), "");
    let finished = workspace.run(&["test", "--jobs", "1"]);
    assert_eq!(finished.code, Some(0));
    assert_eq!(
        finished.stderr,
        "built\nchecking 2 tests in 1 binary, 1 at once\n"
    );
    let (tests, time) = finished.stdout.split_once(" (").expect("a time");
    assert_eq!(
        tests,
        "  ok  queue one  2 classes\n  ok  queue two  no checks\n\n2 passed, 0 failed"
    );
    assert!(time.ends_with(" s)\n"), "{time}");
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run --message-format json-render-diagnostics
cargo metadata --no-deps --format-version 1
list --list --format terse
list --ignored --list --format terse
run one --exact --include-ignored --nocapture in the_tests_are_built
    RADDLE_LOG=off
run two --exact --include-ignored --nocapture in the_tests_are_built
    RADDLE_LOG=off
"
    );
}

#[test]
fn flags_become_environment_variables() {
    let workspace = Workspace::new("flags_become_variables");
    workspace.build(&["one"]);
    let flags = [
        "--budget",
        "30s",
        "--strategy",
        "pct",
        "--max-executions",
        "9",
        "--max-events",
        "50",
        "--seed",
        "7",
        "--workers",
        "2",
        "--resume",
        "--report",
        "/pages",
    ];
    let arguments = [&["test"], &flags[..]].concat();
    assert_eq!(workspace.run(&arguments).code, Some(0));
    let calls = workspace.calls();
    let (_, variables) = calls.split_once("flags_become_variables\n").expect("a run");
    assert_eq!(
        variables,
        "    RADDLE_LOG=off
    RADDLE_MAX_EVENTS=50
    RADDLE_MAX_EXECUTIONS=9
    RADDLE_MAX_TIME=30s
    RADDLE_REPORT=/pages
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
    workspace.build(&["one"]);
    let mut command = workspace.command(&["test", "--seed", "7"]);
    command
        .env("RADDLE_SEED", "1")
        .env("RADDLE_STRATEGY", "random")
        .env("NO_COLOR", "1");
    assert_eq!(finish(&mut command).code, Some(0));
    let calls = workspace.calls();
    let (_, variables) = calls.split_once("variables_pass_through\n").expect("a run");
    assert_eq!(
        variables,
        "    NO_COLOR=1
    RADDLE_LOG=off
    RADDLE_SEED=7
    RADDLE_STRATEGY=random
"
    );
}

#[test]
fn packages_the_filter_and_arguments_reach_whom_they_are_for() {
    let workspace = Workspace::new("packages_the_filter_and_arguments");
    workspace.build(&["counter"]);
    let ours = ["test", "-p", "queue", "counter", "-p", "stack"];
    let others = ["--", "--release", "--", "--skip", "slow"];
    assert_eq!(workspace.run(&[&ours[..], &others].concat()).code, Some(0));
    let calls = workspace.calls();
    let calls: Vec<_> = calls.lines().take(4).collect();
    assert_eq!(
        calls,
        [
            "cargo test --no-run --message-format json-render-diagnostics --package queue \
             --package stack --release",
            "cargo metadata --no-deps --format-version 1",
            "list counter --skip slow --list --format terse",
            "list counter --skip slow --ignored --list --format terse",
        ]
    );
}

#[test]
fn ignored_tests_are_run_only_if_asked_for() {
    let workspace = Workspace::new("ignored_tests");
    workspace.build(&["one", "slow"]);
    workspace.write("ignored", "slow\n");
    let stdout = workspace.run(&["test"]).stdout;
    assert!(
        stdout.contains("queue one") && !stdout.contains("slow"),
        "{stdout}"
    );
    let stdout = workspace.run(&["test", "--", "--", "--ignored"]).stdout;
    assert!(
        stdout.contains("slow") && !stdout.contains("queue one"),
        "{stdout}"
    );
    let stdout = workspace
        .run(&["test", "--", "--", "--include-ignored"])
        .stdout;
    assert!(
        stdout.contains("slow") && stdout.contains("queue one"),
        "{stdout}"
    );
}

#[test]
fn a_failure_is_printed_and_exits_with_1() {
    let workspace = Workspace::new("a_failure_is_printed");
    workspace.build(&["dinner", "plain"]);
    workspace.test(
        "dinner",
        101,
        &failing(),
        "noise that the failure replaces\n",
    );
    workspace.test("plain", 101, &[], "left is not right\n");
    let finished = workspace.run(&["test", "--jobs", "1"]);
    assert_eq!(finished.code, Some(1));
    let (tests, _) = finished.stdout.rsplit_once(" (").expect("a time");
    assert_eq!(
        tests,
        "FAIL  queue dinner  deadlock after 3 executions

      deadlock after 3 executions (exhaustive)

        alice waits for bob

FAIL  queue plain   failed

      left is not right


0 passed, 2 failed"
    );
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
error: the build failed
  help: see cargo's messages above
"
    );
    assert_eq!(
        workspace.calls(),
        "cargo test --no-run --message-format json-render-diagnostics\n"
    );
}

#[test]
fn an_abnormal_exit_of_a_test_is_an_error() {
    let workspace = Workspace::new("tests_that_end_in_another_way");
    workspace.build(&["stuck"]);
    workspace.test("stuck", 2, &[], "no scheduling point for 5 s\n");
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(2));
    let line = "  !!  queue stuck  its process ended with exit status: 2\n\n      no scheduling \
                point for 5 s\n";
    assert!(finished.stdout.starts_with(line), "{}", finished.stdout);
    let error =
        "error: some tests neither passed nor failed\n  help: they are marked with !! above\n";
    assert!(finished.stderr.ends_with(error), "{}", finished.stderr);
}

#[test]
fn a_test_over_the_event_limit_is_undecided() {
    let workspace = Workspace::new("a_test_that_is_too_long");
    workspace.build(&["stress"]);
    let failure = json!({ "kind": "TooLong", "message": "", "marks": [], "notes": [] });
    let story = "too long after 1 execution (random)\n\n  one execution has more than 7 events\n";
    let events = [
        json!({ "event": "started" }),
        json!({ "event": "failure", "failure": failure, "story": story }),
        json!({ "event": "finished", "summary": "1 class", "passed": false }),
    ];
    workspace.test("stress", 101, &events, "");
    let finished = workspace.run(&["test", "--junit", "junit.xml"]);
    assert_eq!(finished.code, Some(2));
    let (tests, _) = finished.stdout.rsplit_once(" (").expect("a time");
    assert_eq!(
        tests,
        "long  queue stress  too long after 1 execution

      too long after 1 execution (random)

        one execution has more than 7 events


0 passed, 0 failed, 1 too long"
    );
    let error = "error: some tests exceed the event limit, and neither passed nor failed
  help: reduce their work, or raise the limit with `--max-events`\n";
    assert!(finished.stderr.ends_with(error), "{}", finished.stderr);
    let junit = fs::read_to_string(workspace.directory.join("junit.xml")).expect("the file");
    let part = "<error message=\"too long after 1 execution\" type=\"TooLong\"";
    assert!(junit.contains(part), "{junit}");
    let finished = workspace.run(&["test", "--json"]);
    let events = lines(&finished.stdout);
    assert_eq!(events[events.len() - 2]["outcome"], "too-long");
    assert_eq!(events[events.len() - 1]["too_long"], 1);
}

#[test]
fn a_failure_takes_precedence_over_the_event_limit() {
    let workspace = Workspace::new("a_failure_beside_too_long");
    workspace.build(&["dinner"]);
    let long = json!({ "kind": "TooLong", "message": "", "marks": [], "notes": [] });
    let long =
        json!({ "event": "failure", "failure": long, "story": "too long after 1 execution" });
    let events = [vec![long], failing()].concat();
    workspace.test("dinner", 101, &events, "");
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stdout.contains("\n0 passed, 1 failed ("),
        "{}",
        finished.stdout
    );
}

#[test]
fn doc_tests_are_run_by_cargo() {
    let workspace = Workspace::new("doc_tests");
    assert_eq!(workspace.run(&["test", "--", "--doc"]).code, Some(0));
    assert_eq!(workspace.calls(), "cargo test --doc\n    RADDLE_LOG=off\n");
}

#[test]
fn tests_without_raddle_are_not_run() {
    let workspace = Workspace::new("tests_that_do_not_use_raddle");
    workspace.build_from("other-tests", &["one"]);
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(2));
    let message = "error: no test here uses raddle\n  help: add raddle with the feature `check`";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
    assert!(!workspace.calls().contains("list"));
}

#[test]
fn a_filter_without_matches_is_an_error() {
    let workspace = Workspace::new("a_filter_that_matches_nothing");
    workspace.build(&[]);
    let finished = workspace.run(&["test", "cuonter"]);
    assert_eq!(finished.code, Some(2));
    let message = "error: no test has `cuonter` in its name\n";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
    assert_eq!(
        workspace.run(&["test"]).code,
        Some(0),
        "no tests, none failed"
    );
}

#[test]
fn a_whole_name_that_no_test_has_is_an_error() {
    let workspace = Workspace::new("a_whole_name_that_no_test_has");
    workspace.build(&[]);
    let finished = workspace.run(&["test", "counter", "--exact"]);
    assert_eq!(finished.code, Some(2));
    let message = "error: no test is named `counter`\n";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
}

#[test]
fn a_binary_without_list_support_is_skipped_with_a_warning() {
    let workspace = Workspace::new("a_binary_that_lists_nothing");
    workspace.build(&[]);
    workspace.write("names.code", "1");
    let finished = workspace.run(&["test"]);
    assert_eq!(finished.code, Some(0));
    let message = "warning: the tests of `queue` are skipped";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
}

#[test]
fn an_invalid_budget_is_refused_before_the_build() {
    let workspace = Workspace::new("a_budget_is_checked");
    for (budget, reason) in [
        ("soon", ""),
        ("0s", ""),
        ("99999999999999999999s", "too large, "),
    ] {
        let finished = workspace.run(&["test", "--budget", budget]);
        assert_eq!(finished.code, Some(2));
        let message = format!(
            "error: invalid value '{budget}' for '--budget <TIME>': {reason}expected a time such as 500ms, \
             20s, 2m or 1h, of at least 1ms\n\n\
             For more information, try '--help'.\n"
        );
        assert_eq!(finished.stderr, message);
    }
    assert_eq!(workspace.calls(), "");
}

#[test]
fn the_flags_of_cargo_are_passed_on() {
    let workspace = Workspace::new("the_flags_of_cargo");
    workspace.build(&["one"]);
    let build = "cargo test --no-run --message-format json-render-diagnostics";
    for (given, passed_on) in [
        ("--lib", "--lib"),
        ("--bins", "--bins"),
        ("--bin a --bin b", "--bin a --bin b"),
        ("--tests", "--tests"),
        ("--test counts", "--test counts"),
        ("--examples", "--examples"),
        ("--example dice", "--example dice"),
        ("--all-targets", "--all-targets"),
        ("--release", "--release"),
        ("-r", "--release"),
        ("--profile fast", "--profile fast"),
        ("--features a,b", "--features a,b"),
        ("-F a -F b", "--features a --features b"),
        ("--all-features", "--all-features"),
        ("--no-default-features", "--no-default-features"),
        ("--workspace", "--workspace"),
        ("--all", "--workspace"),
        ("--workspace --exclude a", "--exclude a --workspace"),
        ("-p a --package b", "--package a --package b"),
        ("--color never", "--color never"),
        ("-v", "--verbose"),
        ("-vv", "--verbose --verbose"),
        (
            "--manifest-path a/Cargo.toml",
            "--manifest-path a/Cargo.toml",
        ),
        ("--target-dir t", "--target-dir t"),
        ("--lib -- --locked", "--lib --locked"),
    ] {
        workspace.write("calls", "");
        let line: Vec<&str> = ["test"].into_iter().chain(given.split(' ')).collect();
        let finished = workspace.run(&line);
        assert_eq!(finished.code, Some(0), "{given}: {finished:?}");
        let calls = workspace.calls();
        let mut calls = calls.lines();
        assert_eq!(calls.next(), Some(&*format!("{build} {passed_on}")));
        let metadata = "cargo metadata --no-deps --format-version 1";
        let expected = match given.starts_with("--manifest-path") {
            true => format!("{metadata} {given}"),
            false => metadata.to_owned(),
        };
        assert_eq!(calls.next(), Some(&*expected));
    }
}

#[test]
fn files_are_in_the_given_target_directory() {
    let workspace = Workspace::new("a_given_target_directory");
    workspace.build(&["one"]);
    workspace.write("elsewhere/raddle/run-1.old", "");
    assert_eq!(
        workspace.run(&["test", "--target-dir", "elsewhere"]).code,
        Some(0)
    );
    assert!(!workspace.directory.join("target").exists());
    assert!(workspace.directory.join("elsewhere/raddle").exists());
}

#[test]
fn tests_are_listed_and_not_run() {
    let workspace = Workspace::new("tests_are_listed");
    workspace.build(&["one", "two::three", "slow"]);
    workspace.write("ignored", "slow\n");
    let finished = workspace.run(&["test", "--list"]);
    assert_eq!(finished.code, Some(0));
    assert_eq!(finished.stdout, "one: test\ntwo::three: test\n");
    assert!(finished.stderr.ends_with("2 tests in 1 binary\n"));
    let calls = workspace.calls();
    assert!(
        calls.lines().all(|call| !call.starts_with("run ")),
        "{calls}"
    );
}

#[test]
fn a_bad_setting_is_one_error_before_the_build() {
    let workspace = Workspace::new("a_bad_setting");
    workspace.build(&["one", "two"]);
    let strategies = "unknown strategy `foo`; there are: auto, exhaustive, random, pct, ";
    for command in ["test", "run"] {
        let finished = workspace.run(&[command, "--strategy", "foo"]);
        assert_eq!(finished.code, Some(2));
        let start = format!("error: invalid value 'foo' for '--strategy <STRATEGY>': {strategies}");
        assert!(finished.stderr.starts_with(&start), "{}", finished.stderr);
    }
    for (variable, value, problem) in [
        ("RADDLE_STRATEGY", "foo", strategies),
        (
            "RADDLE_MAX_TIME",
            "soon",
            "`soon` is not a time such as 500ms, ",
        ),
        (
            "RADDLE_WORKERS",
            "0",
            "`0` is not a whole number from 1 to 1024",
        ),
        ("RADDLE_COVERAGE", "x", "unknown metric `x`; there are: "),
        ("RADDLE_REQUIRE", "all", "`all` is not one of: exhaustive, "),
        ("RADDLE_REPLAY", "r1.AAA?", "not a token: it has a `?`"),
    ] {
        for command in ["test", "run"] {
            let finished = finish(workspace.command(&[command]).env(variable, value));
            assert_eq!((finished.code, &*finished.stdout), (Some(2), ""));
            let start = format!("error: {variable}: {problem}");
            assert!(finished.stderr.starts_with(&start), "{}", finished.stderr);
            let help = "\n  help: change the environment variable, or unset it\n";
            assert!(finished.stderr.ends_with(help), "{}", finished.stderr);
        }
    }
    assert_eq!(workspace.calls(), "");
    // A flag takes precedence, and an empty variable counts as unset.
    for (flags, value) in [(&["--strategy", "random"][..], "foo"), (&[], " ")] {
        let arguments = [&["test"], flags].concat();
        let mut command = workspace.command(&arguments);
        assert_eq!(finish(command.env("RADDLE_STRATEGY", value)).code, Some(0));
    }
}

#[test]
fn the_weakest_guarantee_of_a_test_is_shown() {
    let workspace = Workspace::new("the_weakest_guarantee");
    workspace.build(&["three"]);
    let check = |number, guarantee, summary: &str| {
        [
            json!({ "event": "started", "check": number }),
            json!({
                "event": "finished", "check": number, "guarantee": guarantee, "summary": summary,
                "passed": true,
            }),
        ]
    };
    let bounded = json!({ "Bounded": { "preemptions": 2 } });
    let checks = [
        check(1, json!("Exhaustive"), "every behaviour was run: 7 classes"),
        check(
            2,
            bounded,
            "every behaviour up to 2 preemptions was run: 9 classes",
        ),
        check(3, json!("Exhaustive"), "every behaviour was run: 3 classes"),
    ];
    workspace.test("three", 0, &checks.concat(), "");
    let finished = workspace.run(&["test", "--junit", "junit.xml"]);
    let line = "  ok  queue three  3 checks, the weakest: every behaviour up to 2 preemptions was run: 9 \
                classes\n";
    assert!(finished.stdout.starts_with(line), "{}", finished.stdout);
    let junit = fs::read_to_string(workspace.directory.join("junit.xml")).expect("the file");
    let property = "<property name=\"guarantee\" value=\"bounded:2\"/>";
    assert!(junit.contains(property), "{junit}");
    for number in [7, 9, 3] {
        assert!(
            junit.contains(&format!("was run: {number} classes")),
            "{junit}"
        );
    }
    let events = lines(&workspace.run(&["test", "--json"]).stdout);
    assert_eq!(events[events.len() - 2]["guarantee"], "bounded:2");
}

#[test]
fn colours_follow_the_flag() {
    let workspace = Workspace::new("colours_follow_the_flag");
    workspace.build(&["one"]);
    let is_coloured = |flags: &[&str], variable: Option<&str>| {
        let mut command = workspace.command(&[&["test"], flags].concat());
        command.envs(variable.map(|name| (name, "1")));
        finish(&mut command).stdout.contains("\x1b[")
    };
    assert!(!is_coloured(&[], None), "no terminal");
    assert!(is_coloured(&["--color", "always"], None));
    assert!(
        is_coloured(&["--color", "always"], Some("NO_COLOR")),
        "the flag decides"
    );
    assert!(!is_coloured(&["--color", "never"], Some("CLICOLOR_FORCE")));
    assert!(!is_coloured(&["--color", "auto"], Some("NO_COLOR")));
}
