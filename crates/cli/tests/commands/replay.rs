//! `cargo raddle replay`.

use crate::support::{Finished, Step, Workspace, finish};

const SCHEDULE: &str = "raddle schedule 2";
const TOKEN: &str =
    "r1.NQEMdGVzdHM6OmZhaWxzAwEAAQEBKAAFAgAABAABAQcAAQIDAAAGAAECAAIAAgEDAAQGAAEI62eCXg";

/// A workspace with two tests; the replayed test exits with `code`.
fn workspace_with_tests(test: &str, code: u8) -> Workspace {
    let workspace = Workspace::new(test);
    let names = "queue::tests::push_then_pop: test\ncounter_is_not_lost: test\nspeed: benchmark\n";
    workspace.answer(Step::List, 0, names, "Running unittests\n");
    workspace.answer(Step::Tests, code, "the story\n", "");
    workspace
}

fn calls_with(schedule: &str) -> String {
    format!(
        "cargo test --no-run
cargo test -- --list --format terse
cargo test counter_is_not_lost -- --exact --include-ignored --nocapture
    RADDLE_REPLAY={schedule}
"
    )
}

#[test]
fn the_text_of_a_schedule_is_passed_on_unchanged() {
    let workspace = workspace_with_tests("the_text_of_a_schedule", 101);
    let expected = Finished {
        code: Some(1),
        stdout: "the story\n".to_owned(),
        stderr: String::new(),
    };
    assert_eq!(
        workspace.run(&["replay", "counter_is_not_lost", SCHEDULE]),
        expected
    );
    assert_eq!(workspace.calls(), calls_with(SCHEDULE));
}

#[test]
fn a_token_of_any_version_is_passed_on() {
    for (name, token) in [("a_token", TOKEN), ("old_token", "r0.x")] {
        let workspace = workspace_with_tests(name, 101);
        let finished = workspace.run(&["replay", "counter_is_not_lost", token]);
        assert_eq!(finished.code, Some(1));
        assert_eq!(workspace.calls(), calls_with(token));
    }
}

#[test]
fn raddle_dir_takes_precedence_over_the_target_directory() {
    let workspace = workspace_with_tests("a_directory_of_ones_own", 101);
    let path = workspace.write("kept/mycrate/counter_is_not_lost.schedule", SCHEDULE);
    let mut command = workspace.command(&["replay", "counter_is_not_lost"]);
    command.env("RADDLE_DIR", workspace.directory.join("kept"));
    assert_eq!(finish(&mut command).code, Some(1));
    let calls = workspace.calls();
    assert!(!calls.contains("metadata"), "{calls}");
    let replay = format!("    RADDLE_REPLAY={}\n", path.display());
    assert!(calls.ends_with(&replay), "{calls}");
}

#[test]
fn a_passing_replay_exits_with_0() {
    let workspace = workspace_with_tests("a_test_that_passes_now", 0);
    assert_eq!(
        workspace
            .run(&["replay", "counter_is_not_lost", SCHEDULE])
            .code,
        Some(0)
    );
}

#[test]
fn a_relative_path_is_made_absolute() {
    let workspace = workspace_with_tests("a_relative_path", 101);
    let path = workspace.write("saved/lost.schedule", SCHEDULE);
    let finished = workspace.run(&["replay", "counter_is_not_lost", "saved/lost.schedule"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(workspace.calls(), calls_with(&path.display().to_string()));
}

#[test]
fn an_invalid_schedule_is_refused_before_the_build() {
    let workspace = workspace_with_tests("neither_a_schedule_nor_a_file", 0);
    workspace.write("directory/file", "");
    for given in [
        "lost.schedule",
        "directory",
        "schedule raddle",
        "r.x",
        "r1",
        "",
    ] {
        let finished = workspace.run(&["replay", "counter_is_not_lost", given]);
        assert_eq!(finished.code, Some(2));
        let message = format!(
            "error: `{given}` is neither a file nor a schedule nor a token\n  \
             help: the text of a schedule starts with `raddle schedule`, a token with `r1.`\n"
        );
        assert_eq!(finished.stderr, message);
    }
    assert_eq!(workspace.calls(), "");
}

#[test]
fn a_schedule_that_cannot_be_read_is_refused_before_the_build() {
    let workspace = workspace_with_tests("a_schedule_that_cannot_be_read", 0);
    workspace.write("words", "no schedule");
    let cut = &TOKEN[..40];
    let all = TOKEN.len();
    let cut_off = format!("the token is cut off: only 40 of its {all} characters");
    for (given, problem) in [
        (cut, &*cut_off),
        ("r1.AAA?", "not a token: it has a `?`"),
        ("raddle schedule 2; nonsense", "line 2 of the schedule"),
        ("words", "words: not a schedule: "),
    ] {
        for command in [
            &["replay", "counter_is_not_lost", given][..],
            &["run", "--replay", given, "--", "./program"],
        ] {
            let finished = workspace.run(command);
            assert_eq!(finished.code, Some(2), "{given}");
            let message = format!("error: {problem}");
            assert!(finished.stderr.starts_with(&message), "{}", finished.stderr);
        }
    }
    assert_eq!(workspace.calls(), "");
}

#[test]
fn without_a_schedule_the_saved_one_is_used() {
    let workspace = workspace_with_tests("the_saved_one_is_used", 101);
    let file = "queue.tests.push_then_pop.schedule";
    let path = workspace.write(&format!("target/raddle/mycrate/{file}"), SCHEDULE);
    workspace.write("target/raddle/other/tests.other.schedule", SCHEDULE);
    let metadata = serde_json::json!({ "target_directory": workspace.directory.join("target") });
    workspace.answer(Step::Metadata, 0, &metadata.to_string(), "");
    let finished = workspace.run(&["replay", "queue::tests::push_then_pop"]);
    assert_eq!(finished.code, Some(1));
    let path = path.display();
    let directory = workspace.directory.join("target/raddle");
    assert_eq!(
        finished.stderr,
        format!(
            "no schedule given, looking for {file} in the subdirectories of {}\n",
            directory.display()
        )
    );
    assert_eq!(
        workspace.calls(),
        format!(
            "cargo test --no-run
cargo test -- --list --format terse
cargo metadata --no-deps --format-version 1
cargo test queue::tests::push_then_pop -- --exact --include-ignored --nocapture
    RADDLE_REPLAY={path}
"
        )
    );
}

#[test]
fn saved_schedules_of_several_binaries_are_listed() {
    let workspace = workspace_with_tests("several_saved_ones", 0);
    let one = workspace.write("target/raddle/one/counter_is_not_lost.schedule", SCHEDULE);
    let two = workspace.write("target/raddle/two/counter_is_not_lost.schedule", SCHEDULE);
    let metadata = serde_json::json!({ "target_directory": workspace.directory.join("target") });
    workspace.answer(Step::Metadata, 0, &metadata.to_string(), "");
    let finished = workspace.run(&["replay", "counter_is_not_lost"]);
    assert_eq!(finished.code, Some(2));
    let message = format!(
        "error: several binaries have saved a schedule for `counter_is_not_lost`
  note: {}
  note: {}
  help: give one of these files after the name of the test
",
        one.display(),
        two.display()
    );
    assert!(finished.stderr.ends_with(&message), "{}", finished.stderr);
}

#[test]
fn without_any_schedule_the_error_names_the_expected_file() {
    let workspace = workspace_with_tests("without_a_saved_one", 0);
    workspace.answer(
        Step::Metadata,
        0,
        r#"{"target_directory": "/elsewhere/target"}"#,
        "",
    );
    let finished = workspace.run(&["replay", "counter_is_not_lost"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "no schedule given, looking for counter_is_not_lost.schedule in the subdirectories of \
         /elsewhere/target/raddle
error: no schedule is saved for `counter_is_not_lost`: \
         /elsewhere/target/raddle/*/counter_is_not_lost.schedule does not exist
  help: a failing run of the test saves one; or give a schedule or its file after the name of the \
         test
"
    );
}

#[test]
fn a_target_directory_that_cannot_be_found_is_an_error() {
    let workspace = workspace_with_tests("no_target_directory", 0);
    for metadata in ["", "not json", "{}", r#"{"target_directory": 7}"#] {
        workspace.answer(Step::Metadata, 0, metadata, "");
        let finished = workspace.run(&["replay", "counter_is_not_lost"]);
        assert_eq!(finished.code, Some(2));
        assert_eq!(
            finished.stderr,
            "error: cannot find the target directory: `cargo metadata` does not name it
  help: set the environment variable CARGO to the cargo to use
"
        );
    }
    workspace.answer(
        Step::Metadata,
        101,
        "",
        "error: could not find `Cargo.toml`\n",
    );
    let finished = workspace.run(&["replay", "counter_is_not_lost"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: cannot find the target directory
  note: cargo printed:
error: could not find `Cargo.toml`
"
    );
}

#[test]
fn an_unknown_test_is_an_error_with_suggestions() {
    let workspace = workspace_with_tests("a_test_that_does_not_exist", 0);
    for (name, help) in [
        ("counter_is_not_lots", "did you mean `counter_is_not_lost`?"),
        (
            "stack::push_then_pop",
            "did you mean `queue::tests::push_then_pop`?",
        ),
        ("speed", "list the names with `cargo test -- --list`"),
    ] {
        let finished = workspace.run(&["replay", name, SCHEDULE]);
        assert_eq!(finished.code, Some(2));
        assert_eq!(
            finished.stderr,
            format!("error: no test is named `{name}`\n  help: {help}\n")
        );
    }
    assert!(!workspace.calls().contains("--exact"));
}

#[test]
fn tests_that_cannot_be_built_or_listed_are_an_error() {
    let workspace = workspace_with_tests("cannot_be_built_or_listed", 0);
    workspace.answer(Step::List, 101, "", "error: unexpected argument\n");
    let finished = workspace.run(&["replay", "counter_is_not_lost", SCHEDULE]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: cannot list the tests
  note: cargo printed:
error: unexpected argument
"
    );
    workspace.answer(Step::Build, 101, "", "");
    let finished = workspace.run(&["replay", "counter_is_not_lost", SCHEDULE]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: the build failed\n  help: see cargo's messages above\n"
    );
}

#[test]
fn a_part_of_one_name_is_enough() {
    let workspace = workspace_with_tests("a_part_of_one_name", 101);
    let finished = workspace.run(&["replay", "then", SCHEDULE]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.stderr, "`then` is `queue::tests::push_then_pop`\n");
    let calls = workspace.calls();
    let call = "cargo test queue::tests::push_then_pop -- --exact --include-ignored --nocapture\n";
    assert!(calls.contains(call), "{calls}");
}

#[test]
fn a_part_of_several_names_is_an_error_that_lists_them() {
    let workspace = workspace_with_tests("a_part_of_several_names", 0);
    let names = "queue::tests::push: test\nqueue::tests::push_then_pop: test\npush_all: test\n";
    workspace.answer(Step::List, 0, &format!("{names}{names}"), "");
    let finished = workspace.run(&["replay", "push", SCHEDULE]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: several tests have `push` in their name
  note: push_all
  note: queue::tests::push
  note: queue::tests::push_then_pop
  help: give a longer part, or the whole name
"
    );
    assert!(!workspace.calls().contains("--exact"));
    // A whole name is no part.
    let finished = workspace.run(&["replay", "queue::tests::push", SCHEDULE]);
    assert_eq!((finished.code, &*finished.stderr), (Some(0), ""));
    // A test in several targets has one name.
    let finished = workspace.run(&["replay", "all", SCHEDULE]);
    assert_eq!(finished.code, Some(0));
}

#[test]
fn the_flags_of_cargo_apply_to_every_call() {
    let workspace = workspace_with_tests("replay_with_flags", 0);
    let flags = [
        "--manifest-path",
        "a/Cargo.toml",
        "-F",
        "slow",
        "--target-dir",
        "t",
    ];
    let line = [&["replay", "counter_is_not_lost", SCHEDULE], &flags[..]].concat();
    assert_eq!(workspace.run(&line).code, Some(0));
    let flags = "--manifest-path a/Cargo.toml --target-dir t --features slow";
    assert_eq!(
        workspace.calls(),
        format!(
            "cargo test --no-run {flags}
cargo test {flags} -- --list --format terse
cargo test {flags} counter_is_not_lost -- --exact --include-ignored --nocapture
    RADDLE_REPLAY={SCHEDULE}
"
        )
    );
}
