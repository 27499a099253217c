//! Machine-readable results of `cargo raddle test`.

use std::fs;

use serde_json::json;

use crate::events::{failing, lines, passing};
use crate::support::Workspace;

#[test]
fn events_are_printed_as_lines_of_json() {
    let workspace = Workspace::new("what_happens_as_json");
    workspace.build(&["dinner", "one"]);
    workspace.test("dinner", 101, &failing(), "");
    workspace.test("one", 0, &passing("2 classes"), "");
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
    workspace.test("dinner", 101, &failing(), "");
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
    workspace.test("dinner", 101, &failing(), "");
    workspace.test("one", 0, &passing("2 classes"), "");
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
