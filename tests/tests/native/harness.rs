//! `cargo raddle test --native` on the crate in `tests/native-harness`, which knows nothing of raddle: what
//! comes of each test is what came of it without raddle, and what panics say is what raddle's own types say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use raddle::{Checker, Strategy, thread};
use serde_json::Value;

use crate::support::{LIBRARY, folder, workspace};

/// The command, in the folder of the crate, with a target folder of its own.
fn command(test: &str, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(LIBRARY.with_file_name("cargo-raddle"));
    command.arg("raddle").args(arguments);
    command.current_dir(workspace().join("tests/native-harness"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("RADDLE_") || name.ends_with("RUSTFLAGS") {
            command.env_remove(&*name);
        }
    }
    command.env("CARGO_TARGET_DIR", target(test));
    command.envs(settings.iter().copied()).output().unwrap()
}

fn target(test: &str) -> PathBuf {
    folder(&format!("harness-{test}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What was told of a test.
#[derive(Default)]
struct Told {
    outcome: String,
    /// What its failures say.
    messages: Vec<String>,
    executions: u64,
}

/// Every test of the crate, run once.
static TOLD: LazyLock<BTreeMap<String, Told>> = LazyLock::new(|| {
    let arguments = ["test", "--native", "--json", "--strategy", "exhaustive"];
    told(&command("all", &arguments, &[]))
});

fn told(output: &Output) -> BTreeMap<String, Told> {
    let mut all: BTreeMap<String, Told> = BTreeMap::new();
    for line in text(&output.stdout).lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let Some(test) = event["test"].as_str() else {
            continue;
        };
        let told = all.entry(test.to_owned()).or_default();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        match event["event"].as_str() {
            Some("failure") => told.messages.push(word(&event["failure"]["message"])),
            Some("finished") => told.executions += event["executions"].as_u64().unwrap(),
            Some("test-finished") => told.outcome = word(&event["outcome"]),
            _ => {}
        }
    }
    assert!(!all.is_empty(), "{}", text(&output.stderr));
    all
}

fn names(outcome: &str) -> BTreeSet<&'static str> {
    let told = TOLD.iter().filter(|(_, told)| told.outcome == outcome);
    told.map(|(name, _)| name.trim_start_matches("tests::"))
        .collect()
}

fn message(test: &str) -> &'static str {
    match &TOLD[test].messages[..] {
        [message] => message,
        messages => panic!("{test} has failed so: {messages:?}"),
    }
}

#[test]
fn tests_pass_and_fail_as_they_do_without_raddle() {
    // And those whose failure takes luck to see without it.
    let fails = BTreeSet::from([
        "aborts",
        "again::aborts_at_times_when_its_variables_are_dropped",
        "again::panics_in_all_orders_but_one",
        "again::returns_an_error_at_times",
        "exits",
        "loses_an_update",
        "overflows",
        "panics_after_a_caught_one",
        "panics_after_much_was_printed",
        "panics_otherwise",
        "prints_and_fails",
        "returns_an_error",
        "scoped_thread_panics",
        "should_panic_and_does_not",
        "thread_panics_and_join_is_unwrapped",
        "thread_panics_and_nobody_asks",
        "whole",
    ]);
    let passes = BTreeSet::from([
        "again::begins_with_nothing_changed",
        "again::ends_at_times_before_its_threads",
        "has_no_threads",
        "has_one_thread",
        "knows_its_name",
        "panic_is_caught",
        "panics_as_it_should",
        "prints",
        "returns_ok",
        "scope_is_caught",
        "scoped_thread_should_panic",
        "thread_panics_and_that_is_expected",
    ]);
    assert_eq!(names("failed"), fails);
    assert_eq!(names("passed"), passes);
    assert_eq!(TOLD.len(), fails.len() + passes.len());
}

#[test]
fn wherever_threads_run_and_however_executions_begin_the_same_comes_of_tests() {
    let outcomes = |told: &BTreeMap<String, Told>| {
        let outcomes = told
            .iter()
            .map(|(name, told)| (name.clone(), told.outcome.clone()));
        outcomes.collect::<Vec<_>>()
    };
    let expected = outcomes(&TOLD);
    for flags in [["--substrate", "os"], ["--restart", "fork"]] {
        let arguments = ["test", "--native", "--json", "--strategy", "exhaustive"];
        let other = command("all", &[&arguments[..], &flags].concat(), &[]);
        assert_eq!(outcomes(&told(&other)), expected, "{flags:?}");
    }
}

/// Pages are protected again after 8, 16, 32 executions and so on, so each of the six pages is new at some time.
#[test]
fn what_executions_change_is_restored_in_hundreds_of_them() {
    let name = "again::begins_with_nothing_changed";
    let limits = ["--strategy", "random", "--max-executions", "600"];
    let arguments = [&["test", "--native", "--json", name][..], &limits].concat();
    let told = told(&command("all", &arguments, &[]));
    assert_eq!(told[name].outcome, "passed", "{:?}", told[name].messages);
    assert_eq!(told[name].executions, 600);
}

#[test]
fn a_test_without_threads_is_run_once() {
    for test in ["has_no_threads", "returns_ok", "panics_as_it_should"] {
        assert_eq!(TOLD[&format!("tests::{test}")].executions, 1, "{test}");
    }
}

#[test]
fn failures_say_what_the_test_and_its_harness_say() {
    for (test, start) in [
        (
            "tests::loses_an_update",
            "main panicked at src/lib.rs:42:9:\n\
             assertion `left == right` failed: one is lost\n  left: 1\n right: 2",
        ),
        (
            "whole",
            "main panicked at tests/whole.rs:4:5:\n\
             assertion `left == right` failed: one is lost\n  left: 1\n right: 2",
        ),
        (
            "tests::panics_after_a_caught_one",
            "main panicked at src/lib.rs:115:9:\nnot caught",
        ),
        (
            "tests::panics_otherwise",
            "main panicked at src/lib.rs:54:9:\nthat",
        ),
        (
            "tests::should_panic_and_does_not",
            "main failed an assertion:\ntest did not panic as expected at src/lib.rs:59:8",
        ),
        (
            "tests::returns_an_error",
            "main failed an assertion:\nthe test returned an error\nError: \"no good\"",
        ),
        (
            "tests::panics_after_much_was_printed",
            "main panicked at src/lib.rs:161:9:\nit panicked at last",
        ),
        (
            "tests::exits",
            "main ended the program at src/lib.rs:120:9:\nthe program ended with status 3",
        ),
        (
            "tests::aborts",
            "main crashed at src/lib.rs:125:9:\nthe program called abort",
        ),
    ] {
        let message = message(test);
        assert!(message.starts_with(start), "{test}: {message}");
    }
    // Any part of the recursion may be what there is no room for.
    let message = message("tests::overflows");
    let place = message.lines().next().unwrap_or_default();
    let is_inside = (129..=130).any(|line| place.contains(&format!(" src/lib.rs:{line}:")));
    assert!(
        place.starts_with("main crashed at ") && is_inside,
        "{message}"
    );
    assert!(
        message.contains("\nit used more than the 8 MB of stack that it has"),
        "{message}"
    );
}

/// The text with every place as `PLACE`.
fn without_places(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| match word.contains(".rs:") {
            true if word.ends_with(':') => "PLACE:",
            true => "PLACE",
            false => word,
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn panics_of_threads_are_told_as_with_raddles_own_types() {
    let unwrapped = || {
        thread::spawn(|| panic!("inside")).join().unwrap();
    };
    let alone = || drop(thread::spawn(|| panic!("alone")));
    let scoped = || {
        thread::scope(|scope| {
            scope.spawn(|| panic!("in scope"));
        })
    };
    let check = |body: &(dyn Fn() + Send + Sync)| {
        let report = Checker::new().strategy(Strategy::Exhaustive).run(body);
        without_places(&report.failures[0].message)
    };
    for (test, body) in [
        (
            "thread_panics_and_join_is_unwrapped",
            &unwrapped as &(dyn Fn() + Send + Sync),
        ),
        ("thread_panics_and_nobody_asks", &alone),
        ("scoped_thread_panics", &scoped),
    ] {
        let told = without_places(message(&format!("tests::{test}")));
        assert_eq!(told, check(body), "{test}");
    }
}

#[test]
fn a_failure_is_replayed() {
    let test = ["test", "--native", "loses_an_update"];
    let found = command("replay", &test, &[]);
    assert_eq!(found.status.code(), Some(1));
    let replay = ["replay", "--native", "tests::loses_an_update"];
    let again = command("replay", &replay, &[]);
    assert_eq!(again.status.code(), Some(1));
    let again = text(&again.stderr);
    assert!(
        again.contains("panic after 1 execution (replay)"),
        "{again}"
    );
    assert!(
        again.contains("main panicked at src/lib.rs:42:9:"),
        "{again}"
    );
    let misspelt = command(
        "replay",
        &["replay", "--native", "tests::loses_an_updaet"],
        &[],
    );
    assert_eq!(misspelt.status.code(), Some(2));
    let misspelt = text(&misspelt.stderr);
    let help = "error: no test is named `tests::loses_an_updaet`\n  \
                help: did you mean `tests::loses_an_update`?\n";
    assert!(misspelt.ends_with(help), "{misspelt}");
}

#[test]
fn what_a_test_prints_is_shown_in_a_replay_only() {
    let found = command("prints", &["test", "--native", "prints_and_fails"], &[]);
    assert_eq!(found.status.code(), Some(1));
    assert!(!text(&found.stdout).contains("to standard output"));
    let replay = ["replay", "--native", "tests::prints_and_fails"];
    let again = command("prints", &replay, &[]);
    // The schedule may be run more than once.
    let again = text(&again.stdout);
    assert!(again.lines().next().is_some());
    assert!(
        again.lines().all(|line| line == "to standard output"),
        "{again}"
    );
}

#[test]
fn ignored_tests_are_run_if_they_are_asked_for() {
    let arguments = [
        "test",
        "--native",
        "--json",
        "is_ignored",
        "--",
        "--",
        "--ignored",
    ];
    let told = told(&command("ignored", &arguments, &[]));
    let messages = &told["tests::is_ignored"].messages;
    assert_eq!(
        messages[..],
        ["main panicked at src/lib.rs:153:9:\nwas run"]
    );
}

#[test]
fn the_users_own_flags_are_kept() {
    let arguments = ["test", "--native", "has_one_thread"];
    let refused = command("flags", &arguments, &[("RUSTFLAGS", "-Dunused --nonsense")]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = text(&refused.stderr);
    assert!(refused.contains("nonsense"), "{refused}");
    let refused = command(
        "flags",
        &arguments,
        &[("CARGO_BUILD_RUSTFLAGS", "--nonsense")],
    );
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn an_example_is_checked_with_its_arguments() {
    let run = |threads| {
        let arguments = [
            "run",
            "--strategy",
            "exhaustive",
            "--example",
            "sum",
            "--",
            threads,
        ];
        command("example", &arguments, &[])
    };
    let one = run("1");
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    let two = run("2");
    assert_eq!(two.status.code(), Some(1));
    let two = text(&two.stderr);
    assert!(
        two.contains("main panicked at examples/sum.rs:6:5:"),
        "{two}"
    );
    // The same with what was said about a crate without a program.
    let none = command("example", &["run"], &[]);
    assert_eq!(none.status.code(), Some(2));
    let none = text(&none.stderr);
    assert!(
        none.contains("error: there is no program to check here\n"),
        "{none}"
    );
}
