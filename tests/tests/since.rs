//! Versions of a crate in a repository, and what `cargo raddle test --since` says of them.

use std::collections::BTreeSet;

use crate::support::{Finished, Newcomer, command_line, finish, workspace};

/// Runs git, with the same settings everywhere.
#[track_caller]
fn git(crate_: &Newcomer, arguments: &[&str]) -> String {
    let mut command = crate_.command("git");
    let person = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    command.args(person).args(arguments);
    finish(&mut command).exits(0).stdout
}

fn commit(crate_: &Newcomer) -> String {
    git(crate_, &["add", "--all"]);
    git(crate_, &["commit", "--quiet", "--message", "x"]);
    git(crate_, &["rev-parse", "HEAD"])[..10].to_owned()
}

/// Replaces the time of a result, `(auto, 1.5ms)`, by `(auto, TIME)`.
fn without_time(line: &str) -> String {
    match line.rsplit_once(", ") {
        Some((start, time)) if line.contains(" run: ") && time.ends_with("s)") => {
            format!("{start}, TIME)")
        }
        _ => line.to_owned(),
    }
}

/// Checks that the book shows a block with these lines; commits and times have other values there.
#[track_caller]
fn is_in_the_book(command: &str, output: &Finished, commits: &[(&str, &str)]) {
    let book = std::fs::read_to_string(workspace().join("docs/src/since.md")).unwrap();
    let (_, rest) = book.split_once(&format!("$ {command}\n")).expect(command);
    let (shown, _) = rest.split_once("```").expect("a block ends");
    let mut text = format!("{}{}", output.stderr, output.stdout);
    for (commit, name) in commits {
        text = text.replace(commit, name);
    }
    for line in shown.lines().filter(|line| !line.contains(" s)")) {
        assert!(
            text.lines()
                .any(|it| without_time(it) == without_time(line)),
            "`{line}` is not in\n{text}"
        );
    }
}

/// The names of tests that were run.
fn tests_run(output: &Finished) -> BTreeSet<&str> {
    let lines = output.stdout.lines();
    let run = lines.filter(|line| line.starts_with("  ok  ") || line.starts_with("FAIL  "));
    run.filter_map(|line| line.split_whitespace().nth(2))
        .collect()
}

#[test]
fn a_change_is_checked_where_it_matters() {
    let since = Newcomer::new("since", "since");
    since.write(".gitignore", &since.read("ignored"));
    git(&since, &["init", "--quiet", "--initial-branch=main"]);
    let first = commit(&since);
    let raddle = command_line(&since);
    let output = raddle("test --jobs 1 --since main").exits(0);
    assert_eq!(tests_run(&output).len(), 3);
    is_in_the_book(
        "cargo raddle test --jobs 1 --since main",
        &output,
        &[(&first, "5b1c3c9b4e")],
    );

    // Nothing has changed, and a page about the crate is no reason to run its tests.
    since.write("notes.md", "# Notes\n");
    let second = commit(&since);
    let output = raddle("test --since HEAD~1").exits(0);
    assert!(tests_run(&output).is_empty(), "{}", output.stdout);
    let names = [
        (first.as_str(), "5b1c3c9b4e"),
        (second.as_str(), "a90d1f0b77"),
    ];
    is_in_the_book("cargo raddle test --since HEAD~1", &output, &names);

    // An addition that is no longer atomic, and a larger change elsewhere in the file.
    since.replace(
        "src/lib.rs",
        "self.count.fetch_add(1, SeqCst);",
        "let seen = self.count.load(SeqCst);\n        self.count.store(seen + 1, SeqCst);",
    );
    let output = raddle("test --jobs 1 --since main --html new.html").exits(1);
    let first_line = output.stdout.lines().next().unwrap_or_default();
    assert!(
        first_line.starts_with("FAIL  counter nothing_is_lost"),
        "{}",
        output.stdout
    );
    is_in_the_book(
        "cargo raddle test --jobs 1 --since main # with a change",
        &output,
        &names,
    );
    output.says("not recorded as a version");
    let page = since.read("new.html");
    for shown in [
        "counter nothing_is_lost</strong>",
        "compared with ",
        "<strong>new, covered</strong> <code>",
        "<h2>gone</h2>",
        "let seen = self.count.load(SeqCst);",
    ] {
        assert!(page.contains(shown), "{shown} is not in\n{page}");
    }

    // Committed, the failing version is recorded, and its schedule comes first even if only the file of runs is left.
    let third = commit(&since);
    raddle("test --since main")
        .exits(1)
        .says(&format!("recorded as {third}"));
    let runs = std::fs::read(since.path("raddle/runs.redb")).unwrap();
    std::fs::remove_dir_all(since.path("raddle")).unwrap();
    std::fs::create_dir(since.path("raddle")).unwrap();
    std::fs::write(since.path("raddle/runs.redb"), runs).unwrap();
    let output = raddle("test --since main").exits(1);
    output.says("found again by the saved schedule");

    // Repaired, every behaviour is run, and nothing more is claimed than was run.
    since.replace(
        "src/lib.rs",
        "let seen = self.count.load(SeqCst);\n        self.count.store(seen + 1, SeqCst);",
        "self.count.fetch_add(1, SeqCst);",
    );
    let output = raddle("test --since main").exits(0);
    assert!(
        tests_run(&output).contains("nothing_is_lost"),
        "{}",
        output.stdout
    );
}
