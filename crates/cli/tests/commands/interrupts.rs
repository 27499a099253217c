//! Signals to `cargo raddle test`.

use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::events::failing;
use crate::support::Workspace;

#[test]
fn ctrl_c_stops_the_tests_and_keeps_their_findings() {
    let workspace = Workspace::new("ctrl_c");
    workspace.build(&["dinner", "long", "never"]);
    workspace.test("dinner", 101, &failing(), "");
    let interrupted = json!({ "event": "finished", "summary": "9 classes", "interrupted": true });
    workspace.test("long", 0, &[json!({ "event": "started" }), interrupted], "");
    workspace.write("long.waits", "");
    let child = start_until_long_runs(&workspace);
    let id = process_id(&child);
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
    let mut child = start_until_long_runs(&workspace);
    let id = process_id(&child);
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

fn process_id(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("process identifiers are small"))
}

/// Starts the tests, one at a time, and returns when the test `long` runs.
fn start_until_long_runs(workspace: &Workspace) -> Child {
    let mut command = workspace.command(&["test", "--jobs", "1"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with its tests");
    workspace.wait_for("long.running");
    child
}
