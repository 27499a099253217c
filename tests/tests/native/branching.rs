//! Examples of Setiadi (*Debugging and Testing Concurrent Programs with Efficient Test Case Generation*, 2015) as programs
//! in C: numbers of classes, races, branches that interleaving decides, and loops without end. The same programs in Rust
//! are those of `manners.rs`, `branches.rs`, `kernels.rs` and `endless.rs`.

use std::path::{Path, PathBuf};

use crate::support::{Finished, command_with, compile, workspace};

fn program(test: &str) -> PathBuf {
    compile("gcc", "branching.c", test, &["-O1"])
}

/// Checks a test of the program with these settings.
fn check(program: &Path, test: &str, flags: &[&str]) -> Finished {
    let folder = program.with_file_name("raddle").join(test);
    let settings = [("RADDLE_DIR", folder.to_str().unwrap())];
    let words = ["run", "--memory", "sc"];
    let rest = ["--", program.to_str().unwrap(), test];
    command_with(&[&words[..], flags, &rest].concat(), &settings)
}

const EXHAUSTIVE: &[&str] = &["--strategy", "exhaustive"];
const WITH_BRANCHES: &[&str] = &["--strategy", "exhaustive", "--branches"];
const ENDLESS: &[&str] = &["--strategy", "exhaustive", "--reduce", "manners"];

/// The line of the source with this comment.
fn line(comment: &str) -> String {
    let path = "tests/native/branching.c";
    let text = std::fs::read_to_string(workspace().join(path)).unwrap();
    let comment = format!("/* {comment} */");
    let found = text.lines().position(|line| line.contains(&comment));
    format!("{path}:{}", found.unwrap() + 1)
}

#[test]
fn published_numbers_of_classes() {
    let program = program("branching-classes");
    for (test, classes) in [
        ("update", 4),
        ("sections", 4),
        ("hidden", 3),
        ("orders", 3),
        ("closed-and-ordered", 11),
        ("same-lock", 4),
        // The section of the borrower among four others, and the reader's ten reads.
        ("own", 11),
    ] {
        let found = check(&program, test, EXHAUSTIVE);
        assert_eq!(found.exits(0).all_classes(), classes, "{test}");
    }
    // The final value is 9, 10 or 11.
    for (test, comment) in [("update-9", "nine"), ("update-11", "eleven")] {
        let found = check(&program, test, EXHAUSTIVE);
        found.exits(1).says(&line(comment));
    }
}

#[test]
fn published_races() {
    let program = program("branching-races");
    // Racy in one of the groups: a loop of two rounds, an object with two names, a lock that is another one, the other
    // side of a branch.
    for test in [
        "two-rounds",
        "five-rounds",
        "closed",
        "lock-variable",
        "pool",
    ] {
        let found = check(&program, test, EXHAUSTIVE);
        found.exits(1).says("data race");
    }
    for test in ["one-round", "same-lock", "closed-and-ordered"] {
        check(&program, test, EXHAUSTIVE).exits(0);
    }
    // Locksets alone see a race where the branch is taken only after the other section.
    let flags = ["--strategy", "random", "--max-executions", "300"];
    let flags = [&flags[..], &["--predictions", "warn"]].concat();
    let found = check(&program, "hidden", &flags);
    found
        .exits(0)
        .says("unconfirmed race")
        .says("not confirmed");
}

#[test]
fn published_groups_of_branches() {
    let program = program("branching-groups");
    // Number of branches, and of lines with the outcome of a choice of sources.
    for (test, branches, guidelines) in [
        ("groups", 1, 4),
        ("sections-branch", 1, 2),
        ("sign", 1, 2),
        ("own", 0, 0),
    ] {
        let found = check(&program, test, WITH_BRANCHES);
        found.exits(0);
        let text = found.text.split("decided by interleaving").nth(1).unwrap();
        let number = match branches {
            0 => "no branch is decided",
            _ => "1 branch is decided",
        };
        found.says(number);
        assert_eq!(text.matches(" -> ").count(), guidelines, "{test}: {text}");
    }
    // Published: two executions, of which one has the race. The third run repeats the one that fails.
    let flags = ["--strategy", "random", "--branches", "--keep-going"];
    let flags = [&flags[..], &["--max-executions", "3"]].concat();
    let found = check(&program, "pool", &flags);
    found.exits(1).says("data race");
    found.says("1 branch is decided by interleaving (2 classes;");
    found.says("1 of these by directed executions");
}

/// The lock of the client comes before the first, the second or the third round of the server: `J E E`, `E J E E`, `E E`.
#[test]
fn loops_without_end_are_left() {
    let program = program("branching-endless");
    let found = check(&program, "server", ENDLESS);
    found.exits(0);
    found.says("endless loops are left when a round repeats the one before: 3 classes");
    found.says("4 rounds of the loop").says(&line("round"));
    let found = check(&program, "server-race", ENDLESS);
    found.exits(1).says("data race").says(&line("served"));
    let found = check(&program, "crawler", ENDLESS);
    found.exits(0).says("endless loops are left");
    // A thread that writes what it reads, and that another one joins, changes nothing.
    let found = check(&program, "map", ENDLESS);
    found.exits(1).says("livelock");
    // What a late round does is not known, and nothing else is said.
    let found = check(&program, "late-failure", ENDLESS);
    found.exits(0).says("later rounds may do something else");
    // Without the reduction there is no end.
    let flags = ["--strategy", "exhaustive", "--max-events", "300"];
    let flags = [&flags[..], &["--max-executions", "20"]].concat();
    check(&program, "server", &flags).says("not every behaviour was run");
}

/// The branch takes what the thread itself has written, or what the other one has.
#[test]
fn branches_of_loops_without_end_are_listed() {
    let program = program("branching-listed");
    let flags = [ENDLESS, &["--branches"]].concat();
    let found = check(&program, "crawler", &flags);
    let text = found.exits(0).text.split("decided by interleaving").nth(1);
    let text = text.unwrap();
    assert!(text.contains("there may be others"), "{text}");
    assert_eq!(text.matches(" -> ").count(), 2, "{text}");
}
