//! `cargo raddle test`.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Step, Workspace, finish};

/// Events of a check that passes.
fn passes(summary: &str) -> Vec<Value> {
    vec![
        json!({ "event": "started" }),
        json!({ "event": "finished", "summary": summary, "passed": true }),
    ]
}

/// Events of a check that fails.
fn fails() -> Vec<Value> {
    let mark = |column: u32, what: &str, is_primary: bool| {
        let place = json!({ "file": "src/lib.rs", "line": 2, "column": column });
        json!({ "place": place, "what": what, "is_primary": is_primary })
    };
    let failure = json!({
        "kind": "Deadlock",
        "message": "alice waits for bob\nbob waits for alice",
        "marks": [mark(5, "alice waits here", true), mark(13, "bob has taken it here", false)],
        "notes": ["found at night"],
        "replay": "RADDLE_REPLAY=r1.AAAA cargo test dinner",
    });
    let story = "deadlock after 3 executions (exhaustive)\n\n  alice waits for bob\n";
    vec![
        json!({ "event": "started" }),
        json!({ "event": "failure", "failure": failure, "story": story }),
        json!({ "event": "finished", "summary": "3 classes", "passed": false }),
    ]
}

/// Lines of JSON.
fn lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(parse).collect()
}

#[test]
fn tests_are_built_and_run_one_by_one() {
    let workspace = Workspace::new("the_tests_are_built");
    workspace.build(&["one", "two"]);
    workspace.test("one", 0, &passes("2 classes"), "");
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
    workspace.test("dinner", 101, &fails(), "noise that the failure replaces\n");
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
    let events = [vec![long], fails()].concat();
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
fn events_are_printed_as_lines_of_json() {
    let workspace = Workspace::new("what_happens_as_json");
    workspace.build(&["dinner", "one"]);
    workspace.test("dinner", 101, &fails(), "");
    workspace.test("one", 0, &passes("2 classes"), "");
    let finished = workspace.run(&["test", "--json", "--jobs", "1"]);
    assert_eq!(finished.code, Some(1));
    let events = lines(&finished.stdout);
    let kinds: Vec<_> = events
        .iter()
        .map(|event| format!("{} {}", event["test"], event["event"]).replace('"', ""))
        .collect();
    assert_eq!(
        kinds,
        [
            "null run-started",
            "dinner test-started",
            "dinner started",
            "dinner failure",
            "dinner finished",
            "dinner test-finished",
            "one test-started",
            "one started",
            "one finished",
            "one test-finished",
            "null run-finished",
        ]
    );
    assert_eq!(events[3]["failure"]["kind"], "Deadlock");
    assert_eq!(events[5]["outcome"], "failed");
    assert_eq!(events[9]["outcome"], "passed");
    let last = events.last().expect("there are events");
    assert_eq!((&last["passed"], &last["failed"]), (&json!(1), &json!(1)));
}

#[test]
fn failures_are_printed_as_compiler_messages() {
    let workspace = Workspace::new("messages_of_the_compiler");
    workspace.build(&["dinner"]);
    workspace.write("src/lib.rs", "// a\nfn  take(a, f(b)).lock() {}\n");
    workspace.test("dinner", 101, &fails(), "");
    let finished = workspace.run(&["test", "--message-format", "json"]);
    assert_eq!(finished.code, Some(1));
    let messages = lines(&finished.stdout);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["reason"], "compiler-message");
    assert_eq!(messages[0]["target"]["name"], "queue");
    let message = &messages[0]["message"];
    assert_eq!(message["level"], "error");
    assert_eq!(message["code"]["code"], "raddle::Deadlock");
    assert_eq!(
        message["message"],
        "deadlock in `dinner`: alice waits for bob"
    );
    let spans = message["spans"].as_array().expect("spans");
    let source = fs::read_to_string(workspace.directory.join("src/lib.rs")).expect("the source");
    let there: Vec<_> = spans
        .iter()
        .map(|span| {
            let at = |name: &str| usize::try_from(span[name].as_u64().expect("a number")).unwrap();
            let label = span["label"].as_str().expect("a label");
            (&source[at("byte_start")..at("byte_end")], label)
        })
        .collect();
    assert_eq!(
        there,
        [
            ("take(a, f(b))", "alice waits here"),
            ("f(b)", "bob has taken it here")
        ]
    );
    assert_eq!(
        (&spans[0]["is_primary"], &spans[1]["is_primary"]),
        (&json!(true), &json!(false))
    );
    let children = message["children"].as_array().expect("children");
    let messages: Vec<_> = children
        .iter()
        .map(|child| child["message"].as_str())
        .collect();
    assert_eq!(
        messages,
        [
            Some("found at night"),
            Some("replay it: RADDLE_REPLAY=r1.AAAA cargo test dinner")
        ]
    );
}

#[test]
fn results_are_written_as_junit() {
    let workspace = Workspace::new("junit");
    workspace.build(&["dinner", "one"]);
    workspace.test("dinner", 101, &fails(), "");
    workspace.test("one", 0, &passes("2 classes"), "");
    let finished = workspace.run(&["test", "--junit", "out/junit.xml"]);
    assert_eq!(finished.code, Some(1));
    let text = fs::read_to_string(workspace.directory.join("out/junit.xml")).expect("the file");
    for part in [
        "<testsuites name=\"raddle\" tests=\"2\" failures=\"1\" errors=\"0\"",
        "<testsuite name=\"queue\" tests=\"2\"",
        "<testcase name=\"dinner\" classname=\"queue\"",
        "<failure message=\"deadlock after 3 executions\" type=\"Deadlock\">",
        "<system-out>2 classes</system-out>",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    workspace.write("a-file", "");
    let finished = workspace.run(&["test", "--junit", "a-file/junit.xml"]);
    assert_eq!(finished.code, Some(2));
    assert!(
        finished
            .stderr
            .contains("error: cannot write a-file/junit.xml")
    );
}

#[test]
fn ctrl_c_stops_the_tests_and_keeps_their_findings() {
    let workspace = Workspace::new("ctrl_c");
    workspace.build(&["dinner", "long", "never"]);
    workspace.test("dinner", 101, &fails(), "");
    let interrupted = json!({ "event": "finished", "summary": "9 classes", "interrupted": true });
    workspace.test("long", 0, &[json!({ "event": "started" }), interrupted], "");
    workspace.write("long.waits", "");
    let mut command = workspace.command(&["test", "--jobs", "1"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with its tests");
    workspace.wait_for("long.running");
    let id = Pid::from_raw(i32::try_from(child.id()).expect("process numbers are small"));
    kill(id, Signal::SIGINT).expect("the command waits for the test");
    let output = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8(output.stdout).expect("text is printed");
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains("FAIL  queue dinner  deadlock after 3 executions\n"));
    assert!(
        stdout.contains("stop  queue long    9 classes\n"),
        "{stdout}"
    );
    assert!(stdout.contains("\n0 passed, 1 failed, 1 interrupted, 1 not run ("));
    assert!(!workspace.calls().contains("run never"));
}

#[test]
fn repeated_signals_end_a_command_whose_output_is_not_read() {
    let workspace = Workspace::new("repeated_signals");
    workspace.build(&["noisy", "long"]);
    // More than the capacity of a pipe, so that printing it blocks.
    workspace.test("noisy", 101, &[], &"noise\n".repeat(100_000));
    workspace.test("long", 0, &[], "");
    workspace.write("long.waits", "");
    let mut command = workspace.command(&["test", "--jobs", "1"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with its tests");
    workspace.wait_for("long.running");
    let id = Pid::from_raw(i32::try_from(child.id()).expect("process numbers are small"));
    // Signals that arrive together are delivered once, so three may not be enough.
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child of this process") {
            break status;
        }
        kill(id, Signal::SIGTERM).expect("a child that was not waited for");
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
}

#[test]
fn an_invalid_budget_is_refused_before_the_build() {
    let workspace = Workspace::new("a_budget_is_checked");
    for (budget, reason) in [
        (
            "soon",
            "write a whole number and a unit: 500ms, 30s, 2m or 1h",
        ),
        ("0s", "the shortest limit is 1ms"),
        ("99999999999999999999s", "the number is too large"),
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
