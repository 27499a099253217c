//! Mutants and the weakest orderings of structures whose orderings are known.
//!
//! What each needs: a spin lock acquires when it is taken and releases when it is given back, as the documentation of
//! std's atomics says of locks; a ticket lock the same at `serving`, while tickets need atomicity only
//! (Mellor-Crummey and Scott); the ring of one producer and one consumer reads its own index relaxed, acquires the
//! other's and releases its own (Lê, Guatto, Cohen and Pop, "Correct and efficient bounded FIFO queues"); a reference
//! count is raised relaxed and lowered with release and acquire (Boost.Atomic's examples, std's `Arc`); Dekker's entry
//! needs a `SeqCst` fence between its relaxed accesses (the standard of C++).

use serde_json::Value;

use crate::support::{Newcomer, command_line, workspace};

/// Checks that the book shows lines of this output.
#[track_caller]
fn is_in_the_book(command: &str, output: &str) {
    let book = std::fs::read_to_string(workspace().join("docs/src/mutants.md")).unwrap();
    let (_, rest) = book.split_once(&format!("$ {command}\n")).expect(command);
    let (shown, _) = rest.split_once("```").expect("a block ends");
    for line in shown.lines() {
        assert!(
            output.lines().any(|it| it == line),
            "`{line}` is not in\n{output}"
        );
    }
}

/// Lines of the source as they are, and with the weakest orderings.
const WEAKEST: [(&str, &str); 15] = [
    (
        "self.locked.compare_exchange(false, true, SeqCst, SeqCst)",
        "self.locked.compare_exchange(false, true, Acquire, Relaxed)",
    ),
    (
        "self.locked.store(false, SeqCst)",
        "self.locked.store(false, Release)",
    ),
    (
        "self.next.fetch_add(1, SeqCst)",
        "self.next.fetch_add(1, Relaxed)",
    ),
    (
        "self.serving.load(SeqCst) != mine",
        "self.serving.load(Acquire) != mine",
    ),
    (
        "self.serving.store(mine + 1, SeqCst)",
        "self.serving.store(mine + 1, Release)",
    ),
    (
        "let tail = self.tail.load(SeqCst)",
        "let tail = self.tail.load(Relaxed)",
    ),
    (
        "tail - self.head.load(SeqCst)",
        "tail - self.head.load(Acquire)",
    ),
    (
        "self.tail.store(tail + 1, SeqCst)",
        "self.tail.store(tail + 1, Release)",
    ),
    (
        "let head = self.head.load(SeqCst)",
        "let head = self.head.load(Relaxed)",
    ),
    (
        "head == self.tail.load(SeqCst)",
        "head == self.tail.load(Acquire)",
    ),
    (
        "self.head.store(head + 1, SeqCst)",
        "self.head.store(head + 1, Release)",
    ),
    (
        "self.owners.fetch_add(1, SeqCst)",
        "self.owners.fetch_add(1, Relaxed)",
    ),
    (
        "self.owners.fetch_sub(1, SeqCst)",
        "self.owners.fetch_sub(1, AcqRel)",
    ),
    ("mine.store(true, SeqCst)", "mine.store(true, Relaxed)"),
    ("!other.load(SeqCst)", "!other.load(Relaxed)"),
];

/// Weaker than any of these, and a test notices; by the line of the source.
const NOTICED: [(&str, &[&str]); 10] = [
    (WEAKEST[0].0, &["Relaxed", "Release"]),
    (WEAKEST[1].0, &["Relaxed"]),
    (WEAKEST[3].0, &["Relaxed"]),
    (WEAKEST[4].0, &["Relaxed"]),
    (WEAKEST[6].0, &["Relaxed"]),
    (WEAKEST[7].0, &["Relaxed"]),
    (WEAKEST[9].0, &["Relaxed"]),
    (WEAKEST[10].0, &["Relaxed"]),
    (WEAKEST[12].0, &["Relaxed", "Acquire", "Release"]),
    ("self.changed.notify_all()", &["notify-one", "omit"]),
];

#[test]
fn every_ordering_that_a_proof_needs_is_missed_by_the_tests() {
    let weakest = Newcomer::new("mutants", "weakest");
    let source = weakest.read("src/lib.rs");
    let raddle = command_line(&weakest);
    let found = raddle("mutants --json").exits(1);
    let records: Vec<Value> = found
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(records.len() > 30, "{}", found.stdout);
    for record in &records {
        let line = record["line"].as_u64().unwrap() as usize;
        let line = source.lines().nth(line - 1).unwrap();
        let change = record["change"].as_str().unwrap();
        let known = NOTICED.iter().find(|(text, _)| line.contains(text));
        let is_needed = known.is_some_and(|(_, changes)| changes.contains(&change));
        let outcome = if is_needed { "noticed" } else { "not noticed" };
        assert_eq!(record["outcome"], outcome, "{record}");
        // What is said of a change that nothing notices: every behaviour was run.
        assert!(is_needed || record["exhaustive"] == true, "{record}");
    }
    let needed: usize = NOTICED.iter().map(|(_, changes)| changes.len()).sum();
    let is_noticed = |record: &&Value| record["outcome"] == "noticed";
    assert_eq!(records.iter().filter(is_noticed).count(), needed);

    let told = raddle("mutants").exits(1);
    is_in_the_book("cargo raddle mutants", &told.stdout);
    told.says(&format!("{} changes: {needed} noticed, ", records.len()));

    let listed = raddle("mutants --list").exits(0);
    assert_eq!(listed.stdout.lines().count(), records.len());
    let parts = ["1/2", "2/2"].map(|shard| {
        let part = raddle(&format!("mutants --list --shard {shard}")).exits(0);
        part.stdout.lines().count()
    });
    assert_eq!(parts.iter().sum::<usize>(), records.len());
    raddle("mutants --shard 3/2").exits(2).says("K/N");
    raddle("mutants no_such_test")
        .exits(2)
        .says("no test has `no_such_test`");
    raddle("mutants --in-diff no-such-revision")
        .exits(2)
        .says("git does not tell");
}

#[test]
fn the_weakest_orderings_are_the_known_ones() {
    let weakest = Newcomer::new("orderings", "weakest");
    let raddle = command_line(&weakest);
    let found = raddle("orderings --patch weaker.patch").exits(0);
    is_in_the_book("cargo raddle orderings --patch weaker.patch", &found.stdout);
    // The one that the memory model cannot judge stays strong enough to need no judgement.
    found.says(
        "undecided: load buffering, which the memory model does not have, could use src/lib.rs:",
    );
    assert!(
        weakest
            .shell("patch -p1 < weaker.patch")
            .exits(0)
            .stdout
            .contains("src/lib.rs")
    );
    let source = weakest.read("src/lib.rs");
    for (old, new) in WEAKEST {
        assert!(
            source.contains(new) && !source.contains(old),
            "{old} is\n{source}"
        );
    }
    assert!(source.contains("    fence(SeqCst);"), "{source}");
    assert!(
        source.contains("first.load(Acquire)") && source.contains("second.store(true, Release)")
    );
    let names = "use raddle::sync::atomic::Ordering::{Relaxed, SeqCst};";
    weakest.replace(
        "src/lib.rs",
        names,
        "use raddle::sync::atomic::Ordering::*;",
    );
    raddle("test").exits(0);
    raddle("orderings")
        .exits(0)
        .says("0 orderings can be weaker");
}

#[test]
fn tests_that_fail_are_no_judges() {
    let weakest = Newcomer::new("no_judges", "weakest");
    weakest.replace("src/lib.rs", "self.changed.notify_all();", "");
    let raddle = command_line(&weakest);
    raddle("mutants")
        .exits(2)
        .says("`gate` does not pass as it is, ");
    raddle("orderings")
        .exits(2)
        .says("`gate` does not pass as it is, ");
}
