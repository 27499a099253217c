//! Mistakes in the source, made in a copy of a crate.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Newcomer, command_line, workspace};

/// What comes of each mistake, by the text of its line and the operator, and why.
const EXPECTED: [(&str, &str, &str); 8] = [
    // Both threads read, and then both write.
    ("+= amount", "split-guard", "noticed"),
    // The other thread may hold the lock.
    ("+= amount", "try-lock", "noticed"),
    // No thread panics under the lock.
    ("+= amount", "ignore-poison", "not noticed"),
    // 0 - 1 overflows.
    ("+= amount", "arithmetic", "noticed"),
    ("fetch_add", "split-update", "not reached"),
    // 0 - 1 overflows.
    ("> 0", "relational", "noticed"),
    // Counts up, and each round is another state.
    ("- 1", "arithmetic", "timed out"),
    // A name is no number.
    ("note(name", "arguments", "unbuildable"),
];

#[test]
fn mistakes_are_made_in_a_copy() {
    let mistakes = Newcomer::new("mistakes", "mistakes");
    let source = mistakes.read("src/lib.rs");
    mistakes.cargo("test --no-run").exits(0);
    let raddle = command_line(&mistakes);
    let found = raddle("mutants --tier source --json --junit all.xml --html all.html").exits(1);
    let mut outcomes = BTreeMap::new();
    for line in found.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let number = record["line"].as_u64().unwrap() as usize;
        let text = source.lines().nth(number - 1).unwrap();
        let operator = record["operation"].as_str().unwrap().to_owned();
        let expected = EXPECTED
            .iter()
            .find(|(part, name, _)| text.contains(part) && *name == operator);
        let (_, _, outcome) = expected.unwrap_or_else(|| panic!("{record}"));
        assert_eq!(record["outcome"], *outcome, "{record}");
        assert_eq!(record["tier"], "source");
        assert!(record["diff"].as_str().unwrap().contains("\n-"), "{record}");
        match *outcome {
            "noticed" => assert!(record["executions"].as_u64().unwrap() > 0, "{record}"),
            "not noticed" => assert_eq!(record["guarantee"], "exhaustive", "{record}"),
            _ => {}
        }
        outcomes.insert((number, operator), record);
    }
    assert_eq!(outcomes.len(), EXPECTED.len(), "{}", found.stdout);
    // Judged by the test that runs its block, although the other is quicker or slower.
    let judge = |operator: &str| {
        let one = outcomes.iter().find(|((_, it), _)| it == operator);
        one.unwrap().1["test"].clone()
    };
    assert_eq!(judge("split-guard"), "deposits_are_kept");
    assert_eq!(judge("relational"), "nothing_is_left");
    found.says(
        "8 changes: 4 noticed, 1 not noticed (1 although every behaviour was run), 1 timed out, 1 not reached, \
         1 unbuildable",
    );

    // The three others: two have a guard in the middle of their expression, and one is no program.
    found.says("5 changes in one build, 3 with a build of their own");

    let junit = mistakes.read("all.xml");
    assert!(
        junit.contains(r#"tests="8" failures="2" errors="1""#),
        "{junit}"
    );
    let page = mistakes.read("all.html");
    assert!(page.contains("ignore-poison") && page.contains("+= amount"));

    // The user's files, and what cargo has built of them, are as they were.
    assert_eq!(mistakes.read("src/lib.rs"), source);
    mistakes
        .cargo("test --no-run")
        .exits(0)
        .does_not_say("Compiling");
    let target = crate::support::builds().join("newcomer-target/raddle");
    let left = std::fs::read_dir(target).into_iter().flatten().flatten();
    let copies = left.filter(|it| it.path().join("source/tests/all.rs").exists());
    let mine = copies.filter(|it| {
        let manifest = std::fs::read_to_string(it.path().join("source/Cargo.toml"));
        manifest.is_ok_and(|text| text.contains("\"mistakes\""))
    });
    assert_eq!(mine.count(), 0);
}

#[test]
fn mistakes_are_listed_without_a_build() {
    let mistakes = Newcomer::new("mistakes_listed", "mistakes");
    let raddle = command_line(&mistakes);
    let listed = raddle("mutants --tier source --list").exits(0);
    let book = std::fs::read_to_string(workspace().join("docs/src/mutants.md")).unwrap();
    let (_, rest) = book
        .split_once("$ cargo raddle mutants --tier source --list\n")
        .unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    for line in shown.lines() {
        assert!(listed.stdout.lines().any(|it| it == line), "{line}");
    }
    let count = |words: &str| raddle(words).exits(0).stdout.lines().count();
    let all = count("mutants --tier source --list --json");
    let parts = ["1/3", "2/3", "3/3"].map(|part| {
        count(&format!(
            "mutants --tier source --list --json --shard {part}"
        ))
    });
    assert_eq!((all, parts), (8, [3, 3, 2]));
    raddle("mutants --tier source --queue redis://127.0.0.1:1")
        .exits(2)
        .says("changes of operations only");
    raddle("mutants --tier both").exits(2).says("source");
}
