//! `cargo raddle test --native --since`: versions of a crate that knows nothing of raddle.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{LIBRARY, folder, workspace};

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    format!("{err}{out}")
}

#[track_caller]
fn git(root: &Path, arguments: &[&str]) {
    let person = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    let mut command = Command::new("git");
    let output = command
        .args(person)
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

/// The command, without the settings of this run.
fn raddle(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(LIBRARY.with_file_name("cargo-raddle"));
    command.arg("raddle").args(arguments).current_dir(root);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("RADDLE_") || name.ends_with("RUSTFLAGS") {
            command.env_remove(&*name);
        }
    }
    command.env("CARGO_TARGET_DIR", root.join("target"));
    text(&command.output().unwrap())
}

#[track_caller]
fn says(output: &str, text: &str) {
    assert!(output.contains(text), "`{text}` is not in\n{output}");
}

#[test]
fn unmodified_tests_are_compared_and_their_failures_come_first() {
    let root = folder("since");
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::create_dir_all(root.join("src")).unwrap();
    let from = workspace().join("tests/native-harness/src/lib.rs");
    std::fs::copy(from, root.join("src/lib.rs")).unwrap();
    let manifest =
        "[package]\nname = \"endings\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(root.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(root.join(".gitignore"), "target\nCargo.lock\n").unwrap();
    git(&root, &["init", "--quiet", "--initial-branch=main"]);
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "--quiet", "--message", "x"]);

    for test in ["has_one_thread", "loses_an_update"] {
        let output = raddle(&root, &["test", test, "--native", "--since", "main"]);
        says(&output, "recorded as ");
    }
    // Only the file of runs is kept, as in a cache.
    let runs = std::fs::read(root.join("target/raddle/runs.redb")).unwrap();
    std::fs::remove_dir_all(root.join("target/raddle")).unwrap();
    std::fs::create_dir(root.join("target/raddle")).unwrap();
    std::fs::write(root.join("target/raddle/runs.redb"), runs).unwrap();
    let output = raddle(
        &root,
        &["test", "has_one_thread", "--native", "--since", "main"],
    );
    says(&output, ": not run; result at ");
    let output = raddle(
        &root,
        &["test", "loses_an_update", "--native", "--since", "main"],
    );
    says(&output, "after 1 execution (saved schedule)");
    says(&output, "found again by the saved schedule");
}
