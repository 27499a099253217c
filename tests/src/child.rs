//! Tests that a test runs in a process of their own: `#[ignore]`d ones of the same binary.

use std::process::Command;

/// Returns the harness's name of a test of the calling module.
#[macro_export]
macro_rules! test_name {
    ($test:expr) => {
        $crate::child::test_name(module_path!(), $test)
    };
}

/// Returns the harness's name of a test of this module: its path without the crate.
pub fn test_name(module: &str, test: &str) -> String {
    match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    }
}

/// Returns a command that runs one ignored test of this binary, by its whole name.
pub fn ignored_test(name: &str) -> Command {
    let binary = std::env::current_exe().expect("the path of the test binary");
    let mut command = Command::new(binary);
    command.args([name, "--exact", "--ignored"]);
    command
}
