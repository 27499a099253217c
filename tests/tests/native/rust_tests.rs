//! Runs `cargo raddle test --native` on the crates of `tests/native-rust/`, and reads what it says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

use crate::support::{LIBRARY, folder, workspace};

/// What was said of one test.
#[derive(Debug, Default)]
pub struct Checked {
    /// The failures, with their stories.
    pub failures: Vec<Value>,
    /// What is no failure, but may be one some day.
    pub warnings: Vec<Value>,
    /// How the check ended.
    pub finished: Value,
    /// How the test ended.
    pub outcome: String,
    /// What it printed, if nothing else says what is wrong.
    pub output: String,
}

impl Checked {
    /// How many classes there are, all of which were run and passed.
    #[track_caller]
    pub fn all_classes(&self) -> u64 {
        assert_eq!(self.outcome, "passed", "{self:#?}");
        assert_eq!(self.finished["exhausted"], true, "{self:#?}");
        self.finished["classes"].as_u64().unwrap()
    }
}

/// Tests, by the name of their binary and their own.
pub type Tests = BTreeMap<(String, String), Checked>;

/// Where the crates are.
pub fn crates() -> PathBuf {
    workspace().join("tests/native-rust")
}

/// Held during a run: all runs share a target folder, whose lock cargo would wait for otherwise.
static TURN: Mutex<()> = Mutex::new(());

fn cargo_raddle(arguments: &[&str]) -> Command {
    let mut command = Command::new(LIBRARY.with_file_name("cargo-raddle"));
    command.arg("raddle").args(arguments).current_dir(crates());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    command.env("CARGO_TARGET_DIR", folder("rust-crates"));
    // Whether or not there is another.
    command.env("RADDLE_STD", "plain");
    command
}

/// Runs tests with these arguments.
pub fn test(arguments: &[&str]) -> Tests {
    test_with(arguments, &[])
}

/// The same with these variables.
pub fn test_with(arguments: &[&str], variables: &[(&str, &str)]) -> Tests {
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let all = [&["test", "--native", "--json"], arguments].concat();
    let mut command = cargo_raddle(&all);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    drop(turn);
    let problems = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(code.is_some_and(|code| code <= 2), "{code:?}: {problems}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let mut tests = Tests::new();
    for line in lines.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let (Some(binary), Some(test)) = (event["binary"].as_str(), event["test"].as_str()) else {
            continue;
        };
        let name = (binary.to_owned(), test.to_owned());
        let checked = tests.entry(name).or_default();
        match event["event"].as_str().unwrap() {
            "failure" => checked.failures.push(event["failure"].take()),
            "warning" => checked.warnings.push(event["failure"].take()),
            "finished" => checked.finished = event,
            "test-finished" => {
                checked.outcome = event["outcome"].as_str().unwrap().to_owned();
                checked.output = event["output"].as_str().unwrap_or_default().to_owned();
            }
            _ => {}
        }
    }
    assert!(!tests.is_empty(), "no tests: {problems}");
    tests
}

/// Replays the schedule that was saved for a test; how it ended, and what was said.
pub fn replay(package: &str, test: &str) -> (Option<i32>, String) {
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut command = cargo_raddle(&["replay", "--native", test]);
    // A schedule holds for the program that it was saved of: that with the model.
    let output = command
        .env("RADDLE_MODEL", "parking_lot")
        .current_dir(crates().join(package))
        .output()
        .unwrap();
    drop(turn);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}
