//! `cargo raddle test --since`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::events::{failing, lines, passing};
use crate::support::{Finished, Workspace, finish};

/// A workspace that is a repository, with a commit for each version of `src/lib.rs`.
struct Versions {
    workspace: Workspace,
}

impl Versions {
    fn new(test: &str) -> Self {
        let workspace = Workspace::new(test);
        let versions = Versions { workspace };
        versions.git(&["init", "--quiet", "--initial-branch=main"]);
        versions
            .workspace
            .write(".gitignore", "*\n!/src\n!/src/**\n!/.gitignore\n");
        versions
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(arguments)
            .current_dir(&self.workspace.directory);
        let finished = finish(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout
    }

    /// Commits a version, and returns the beginning of its name.
    fn commit(&self, source: &str) -> String {
        self.workspace.write("src/lib.rs", source);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        self.git(&["rev-parse", "HEAD"])[..10].to_owned()
    }

    fn since(&self, arguments: &[&str]) -> Finished {
        let arguments = [&["test", "--jobs", "1"], arguments].concat();
        self.workspace.run(&arguments)
    }

    /// The names of the tests that have run since the last call, in their order.
    fn tests_run(&self) -> Vec<String> {
        let calls = self.workspace.calls();
        self.workspace.write("calls", "");
        let run = calls.lines().filter_map(|line| line.strip_prefix("run "));
        run.map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    }
}

/// Events of a check that passes with requirements between lines of `src/lib.rs`.
fn covering(covered: &[(u32, u32)], feasible: &[(u32, u32)]) -> Vec<Value> {
    let mut events = passing("3 classes");
    let places: Vec<_> = (0..20).map(|line| format!("src/lib.rs:{line}:5")).collect();
    let goals = |goals: &[(u32, u32)]| {
        let goal = |(first, second): &(u32, u32)| json!(["sync-pair", first, second]);
        goals.iter().map(goal).collect::<Vec<_>>()
    };
    let requirements = json!({
        "event": "requirements",
        "places": places,
        "covered": goals(covered),
        "feasible": goals(feasible),
        "is_complete": false,
    });
    events.insert(1, requirements);
    events
}

const SOURCE: &str = "fn a() {\n    one();\n    two();\n}\nfn b() {\n    three();\n}\n";

#[test]
fn unchanged_tests_are_not_run_and_said_to_be_so() {
    let versions = Versions::new("unchanged_tests_are_not_run");
    versions.workspace.build(&["one", "two"]);
    versions.workspace.test("one", 0, &passing("2 classes"), "");
    let first = versions.commit(SOURCE);
    let finished = versions.since(&["--since", "main"]);
    assert_eq!(finished.code, Some(0));
    assert_eq!(
        finished.stderr,
        format!(
            "built\nnothing is known of `main` or the versions before it: all tests run as usual\n\
             checking 2 tests in 1 binary, 1 at once\nrecorded as {first}\n\
             help: `cargo raddle test --since HEAD` records a version that is checked out\n"
        )
    );
    assert_eq!(versions.tests_run(), ["one", "two"]);
    let second = versions.commit(&format!("{SOURCE}// only a comment\n"));
    // The second version is compared with the first, and has its results.
    for (revision, base) in [("HEAD~1", &first), ("HEAD", &second)] {
        let finished = versions.since(&["--since", revision]);
        let (text, _) = finished.stdout.split_once(" (").expect("a time");
        assert_eq!(
            text,
            format!(
                "  --  queue one  unchanged since {base}: not run; result at {first}: 2 classes\n  \
                 --  queue two  unchanged since {base}: not run; result at {first}: no checks\n\n\
                 0 passed, 0 failed, 2 unchanged and not run"
            )
        );
        assert!(
            finished
                .stderr
                .ends_with(&format!("recorded as {second}\n"))
        );
        assert!(versions.tests_run().is_empty());
    }
    // A revision that was not recorded is compared with the last one before it that was.
    versions.commit(SOURCE);
    let finished = versions.since(&["--since", "HEAD"]);
    let expected = format!(
        "nothing is known of `HEAD`; compared with {second}, the last version before it that is\n"
    );
    assert!(finished.stderr.contains(&expected), "{}", finished.stderr);
}

#[test]
fn what_may_differ_is_run() {
    let versions = Versions::new("what_may_differ_is_run");
    versions.workspace.build(&["one"]);
    versions.commit(SOURCE);
    versions.since(&["--since", "HEAD"]);
    assert_eq!(versions.tests_run(), ["one"]);
    let runs = |arguments: &[&str]| {
        let finished = versions.since(&[&["--since", "HEAD"], arguments].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        versions.tests_run() == ["one"]
    };
    assert!(!runs(&[]));
    // Other settings.
    assert!(runs(&["--seed", "7"]));
    assert!(runs(&[]), "the last run had others");
    // Nothing that results depend on.
    assert!(!runs(&["--report", "pages"]));
    // A file that the test may read.
    versions.workspace.write("src/data.txt", "new");
    assert!(runs(&[]));
    fs::remove_file(versions.workspace.directory.join("src/data.txt")).unwrap();
    versions.workspace.write("src/text.md", "new");
    assert!(!runs(&[]));
    // Another binary.
    versions.workspace.build_from("rebuilt-tests", &["one"]);
    assert!(runs(&[]));
    // A failure.
    versions.commit(SOURCE);
    versions.workspace.test("one", 101, &failing(), "");
    assert_eq!(versions.since(&["--since", "HEAD"]).code, Some(1));
    versions.tests_run();
    versions.workspace.test("one", 0, &passing("2 classes"), "");
    assert!(runs(&[]), "it failed");
    // A warning would not be seen again.
    let mut warned = passing("2 classes");
    warned.insert(
        1,
        json!({ "event": "warning", "failure": {}, "story": "odd" }),
    );
    versions.workspace.build_from("tests", &["one"]);
    versions.workspace.test("one", 0, &warned, "");
    assert!(runs(&[]));
    assert!(runs(&[]));
}

#[test]
fn tests_come_in_the_order_of_what_the_change_can_affect() {
    let versions = Versions::new("tests_come_in_the_order");
    let workspace = &versions.workspace;
    workspace.build(&["far", "near", "failed", "new"]);
    workspace.test("far", 0, &covering(&[(6, 6)], &[]), "");
    workspace.test("near", 0, &covering(&[(2, 3), (3, 2)], &[(3, 3)]), "");
    let mut failure = failing();
    failure[1]["failure"]["schedule"] = "raddle schedule 1\n".into();
    workspace.test("failed", 101, &failure, "");
    workspace.write("names", "far\nnear\nfailed");
    let base = versions.commit(SOURCE);
    versions.since(&["--since", "HEAD"]);
    assert_eq!(versions.tests_run(), ["far", "near", "failed"]);
    // A line before `two()`, which is near it.
    versions
        .workspace
        .build_from("rebuilt-tests", &["far", "near", "failed", "new"]);
    workspace.test("near", 0, &covering(&[(2, 4), (3, 4)], &[(3, 2)]), "");
    workspace.test("far", 0, &covering(&[(7, 7)], &[]), "");
    let changed = SOURCE.replace("    two();", "    between();\n    two();");
    workspace.write("src/lib.rs", &changed);
    let saved = workspace
        .directory
        .join("target/raddle/queue/failed.schedule");
    assert!(!saved.exists());
    let finished = versions.since(&["--since", "HEAD"]);
    assert_eq!(versions.tests_run(), ["failed", "new", "near", "far"]);
    // The schedule of the failure is there for the check, which runs it first.
    assert_eq!(fs::read_to_string(saved).unwrap(), "raddle schedule 1\n");
    let (_, news) = finished.stdout.split_once("s)\n").expect("a summary");
    assert_eq!(
        news,
        "\nqueue near: 2 requirements new, 1 of them covered; 1 covered before and not in this run\n  \
         new, not covered yet: sync-pair src/lib.rs:3:5 -> src/lib.rs:2:5\n  \
         not covered in this run: sync-pair src/lib.rs:4:5 -> src/lib.rs:2:5\n"
    );
    let expected =
        "not recorded as a version: the working tree has changes that are not committed\n";
    assert!(finished.stderr.ends_with(expected), "{}", finished.stderr);
    assert!(
        finished
            .stderr
            .contains(&format!("compared with {base}, which is `HEAD`\n"))
    );

    let finished = versions.since(&["--since", "HEAD", "--json", "near"]);
    let events = lines(&finished.stdout);
    let news = events
        .iter()
        .find(|event| event["event"] == "news")
        .expect("news");
    assert_eq!(
        *news,
        json!({
            "event": "news", "binary": "queue", "test": "near",
            "covered": ["sync-pair src/lib.rs:3:5 -> src/lib.rs:4:5"],
            "open": ["sync-pair src/lib.rs:3:5 -> src/lib.rs:2:5"],
            "not_again": ["sync-pair src/lib.rs:4:5 -> src/lib.rs:2:5"],
            "gone": [],
        })
    );
}

#[test]
fn checks_are_told_what_the_earlier_version_knew() {
    let versions = Versions::new("checks_are_told");
    let workspace = &versions.workspace;
    workspace.build(&["near"]);
    workspace.test(
        "near",
        0,
        &covering(&[(2, 3), (6, 6)], &[(3, 3), (3, 6)]),
        "",
    );
    versions.commit(SOURCE);
    versions.since(&["--since", "HEAD"]);
    // The fake test copies what it is told to its output, which is printed if it breaks.
    versions.workspace.build_from("rebuilt-tests", &["near"]);
    workspace.write("src/lib.rs", &SOURCE.replace("    three();", "    four();"));
    let finished = versions.since(&["--since", "HEAD"]);
    assert_eq!(finished.code, Some(0));
    let calls = workspace.calls();
    let variable = calls
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("RADDLE_SINCE="));
    assert!(
        variable.is_some_and(|path| path.ends_with("0.since")),
        "{calls}"
    );
    let told = fs::read_to_string(workspace.directory.join("near.since")).unwrap();
    assert_eq!(
        told,
        "near\tsrc/lib.rs\t5\t7\n\
         covered\tsync-pair\tsrc/lib.rs:2:5\tsrc/lib.rs:3:5\n\
         feasible\tsync-pair\tsrc/lib.rs:3:5\tsrc/lib.rs:3:5\n"
    );
}

#[test]
fn what_git_does_not_know_is_an_error_before_anything_is_built() {
    let versions = Versions::new("what_git_does_not_know");
    versions.workspace.build(&["one"]);
    versions.commit(SOURCE);
    let finished = versions.since(&["--since", "no-such-branch"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: the repository has no commit `no-such-branch`\n  \
         help: give a branch, a tag or a commit, as for `git log`; `git fetch` gets those of others\n"
    );
    assert!(!versions.workspace.calls().contains("--no-run"));

    // A clone with the last commit only.
    let second = versions.commit("fn c() {}\n");
    let url = format!("file://{}", versions.workspace.directory.display());
    versions.git(&["clone", "--quiet", "--depth=1", &url, "shallow"]);
    let mut command = versions.workspace.command(&["test", "--since", "HEAD~1"]);
    // The workspace is where the fake cargo says.
    let root = versions.workspace.directory.join("shallow");
    let metadata = json!({ "target_directory": root.join("target"), "workspace_root": root });
    versions
        .workspace
        .write("metadata.stdout", &metadata.to_string());
    let finished = finish(&mut command);
    assert_eq!(
        finished.stderr,
        "error: this clone has no commit `HEAD~1`, and only a part of the history\n  \
         help: fetch the rest with `git fetch --unshallow`, or `fetch-depth: 0` of actions/checkout\n"
    );
    assert!(!second.is_empty());

    let workspace = Workspace::new("no_repository");
    workspace.build(&["one"]);
    let mut command = workspace.command(&["test", "--since", "HEAD"]);
    command.env(
        "GIT_CEILING_DIRECTORIES",
        workspace.directory.parent().unwrap(),
    );
    let finished = finish(&mut command);
    assert_eq!(finished.code, Some(2));
    let expected = "error: git finds no repository here: not a git repository";
    assert!(finished.stderr.starts_with(expected), "{}", finished.stderr);
    let mut command = workspace.command(&["test", "--since", "HEAD"]);
    // The tools of the fake cargo, without git.
    let tools = workspace.directory.join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["env", "grep", "sort", "sed", "cat", "cp", "sh"] {
        let mut folders = ["/usr/bin", "/bin"]
            .iter()
            .map(|it| Path::new(it).join(tool));
        let file = folders.find(|it| it.exists()).expect("a usual tool");
        std::os::unix::fs::symlink(file, tools.join(tool)).unwrap();
    }
    command.env("PATH", &tools);
    let finished = finish(&mut command);
    assert!(
        finished.stderr.starts_with("error: git cannot be run: "),
        "{}",
        finished.stderr
    );

    let finished = versions.since(&["--since", "HEAD", "--list"]);
    assert_eq!(finished.code, Some(2));
    let finished = versions.since(&["--since", "HEAD", "--", "--doc"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("doc tests are not compared"));
}

#[test]
fn a_damaged_file_of_runs_costs_what_it_knew() {
    let versions = Versions::new("a_damaged_file_of_runs");
    versions.workspace.build(&["one"]);
    versions.commit(SOURCE);
    versions
        .workspace
        .write("target/raddle/runs.redb", "no database");
    let finished = versions.since(&["--since", "HEAD"]);
    assert_eq!(finished.code, Some(0));
    assert!(
        finished
            .stderr
            .contains("warning: nothing is known of earlier versions: ")
    );
    assert_eq!(versions.tests_run(), ["one"]);
    let finished = versions.since(&["--since", "HEAD"]);
    assert!(finished.stdout.contains("1 unchanged and not run"));
}
