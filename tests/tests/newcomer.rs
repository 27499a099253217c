//! The first steps of a new user of raddle: fresh crates from `tests/newcomer/`, built,
//! tested and replayed with the real cargo.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Finished, Newcomer, builds, command_line, finish, workspace};

const LOST: &str = "let seen = self.0.load(SeqCst);\n        self.0.store(seen + 1, SeqCst);";
const KEPT: &str = "self.0.fetch_add(1, SeqCst);";

/// Compiles only where the two locks are the same type.
const SAME: &str = "
pub fn same(lock: std::sync::Mutex<u32>) -> raddle::sync::Mutex<u32> {
    lock
}
";

#[test]
fn a_release_build_is_std_and_compiles_nothing_else() {
    let tally = Newcomer::new("release", "tally");
    let library = tally.read("src/lib.rs");
    tally.write("src/lib.rs", &format!("{library}{SAME}"));
    let build = tally
        .cargo("build --release --message-format json")
        .exits(0);
    assert_eq!(build.packages(), BTreeSet::from(["raddle", "tally"]));
    // With the feature the types differ, so the above means something.
    tally
        .cargo("build --examples")
        .exits(101)
        .says("error[E0308]: mismatched types");
}

#[test]
fn a_lost_update_is_found_and_replayed_by_the_printed_line() {
    let tally = Newcomer::new("lost_update", "tally");
    let test = tally.cargo("test").exits(101);
    test.says("test tests::one_and_one_is_two ... ok")
        .says("test tests::nothing_is_lost ... FAILED")
        .says("panic after 1 execution (auto, seed 0)\n")
        .says("main panicked at src/lib.rs:35:9:\n")
        .says("assertion `left == right` failed: an update was lost\n")
        .says("step │ main                 │ main.1                 │ main.2\n")
        .says("│ load Tally.0 = 0 :14\n")
        .says("│ store 1 to Tally.0 :15 │\n")
        .says("Tally.0 was made at src/lib.rs:10\n");
    let line = test.replay_line();
    assert!(line.starts_with("RADDLE_REPLAY=r1."), "{line}");
    assert!(
        line.ends_with(" cargo test tests::nothing_is_lost -- --exact"),
        "{line}"
    );
    let replay = tally.shell(&line).exits(101);
    replay
        .says("panic after 1 execution (replay)\n")
        .says("assertion `left == right` failed: an update was lost\n")
        .does_not_say("one_and_one_is_two");
    let steps = |finished: &Finished| -> Vec<String> {
        let steps = finished.stdout.lines().filter(|line| line.contains('│'));
        steps.map(str::to_owned).collect()
    };
    assert_eq!(steps(&replay), steps(&test));
}

#[test]
fn the_first_page_of_the_book_shows_what_is_printed() {
    let tally = Newcomer::new("book", "tally");
    let page = fs::read_to_string(workspace().join("docs/src/first-test.md")).unwrap();
    let shown = |text: &str| {
        assert!(
            page.contains(text.trim_end()),
            "the page does not show\n{text}"
        );
    };
    shown(
        tally
            .read("src/lib.rs")
            .trim_start_matches("#![deny(warnings)]\n\n"),
    );
    tally.replace("src/lib.rs", "#![deny(warnings)]\n\n", "");
    let test = tally.cargo("test nothing").exits(101);
    shown(&test.story());
    tally.replace("src/lib.rs", LOST, KEPT);
    shown(KEPT);
    tally
        .cargo("test nothing -- --nocapture")
        .exits(0)
        .says("raddle: tests::nothing_is_lost: every behaviour was run: 2 classes");
}

#[test]
fn a_schedule_that_no_longer_fits_names_the_step() {
    let tally = Newcomer::new("edited", "tally");
    let line = tally.cargo("test").exits(101).replay_line();
    tally.replace("src/lib.rs", LOST, KEPT);
    tally
        .shell(&line)
        .exits(101)
        .says("schedule does not fit after 1 execution (replay)\n")
        .says(
            "the schedule does not fit the program: after 4 steps, thread main.1 should do \
             `load AtomicU32`, but it is at `fetch-add AtomicU32`\n",
        )
        .says("help: the program has changed since the schedule was made");
    tally.cargo("test").exits(0);
}

#[test]
fn a_failure_is_found_again_at_once_until_it_is_gone() {
    let tally = Newcomer::new("found_again", "tally");
    let first = tally.cargo("test").exits(101);
    first.says("panic after 1 execution (auto, seed 0)\n");
    let saved = "raddle/tally/tests.nothing_is_lost.schedule";
    let schedule = tally.read(saved);
    assert!(schedule.starts_with("raddle schedule 2\ncheck tests::nothing_is_lost\nmain: begin, "));
    let again = tally.cargo("test").exits(101);
    again
        .says("panic after 1 execution (saved schedule)\n")
        .says("note: found again by the saved schedule ");
    assert_eq!(again.replay_line(), first.replay_line());
    // Something else comes into the program; the schedule still fits.
    let load = "let seen = self.0.load(SeqCst);";
    tally.replace(
        "src/lib.rs",
        load,
        &format!("assert_eq!(AtomicU32::new(7).load(SeqCst), 7);\n\n        {load}"),
    );
    tally
        .cargo("test")
        .exits(101)
        .says("panic after 1 execution (saved schedule)\n");
    let kept = "raddle-schedules/tests.nothing_is_lost/first.schedule";
    tally.write(kept, &schedule);
    tally
        .cargo("test")
        .exits(101)
        .says("panic after 1 execution (regression schedule)\n")
        .says("/raddle-schedules/tests.nothing_is_lost/first.schedule\n");
    // Neither fits once the bug is gone: the one is removed, the other stays.
    tally.replace("src/lib.rs", load, "self.0.fetch_add(1, SeqCst);");
    tally.replace(
        "src/lib.rs",
        "        self.0.store(seen + 1, SeqCst);\n",
        "",
    );
    tally
        .cargo("test -- --nocapture")
        .exits(0)
        .says("raddle: `tests::nothing_is_lost`: the regression test ")
        .says(" tests nothing: the schedule does not fit the program: after ")
        .says("raddle: `tests::nothing_is_lost`: the saved schedule ")
        .says(" was removed: the schedule does not fit the program: after ");
    assert!(!tally.exists(saved));
    assert_eq!(tally.read(kept), schedule);
    tally.write(kept, "oops");
    tally
        .cargo("test")
        .exits(101)
        .says("first.schedule: not a schedule: the first line must be `raddle schedule 2`");
}

#[test]
fn what_is_given_to_replay_is_checked() {
    let tally = Newcomer::new("bad_input", "tally");
    let line = tally.cargo("test").exits(101).replay_line();
    let token = line.strip_prefix("RADDLE_REPLAY=").unwrap();
    let token = token.split(' ').next().unwrap();
    let with = |variable: &str, value: &str| {
        let mut command = tally.command(env!("CARGO"));
        let test = "test --offline tests::nothing_is_lost -- --exact";
        finish(command.args(test.split(' ')).env(variable, value)).exits(101)
    };
    let replay = |value: &str| with("RADDLE_REPLAY", value);
    let cut_off = &token[..token.len() - 9];
    replay(cut_off).says(&format!(
        "raddle: RADDLE_REPLAY: the token is cut off: only {} of its {} characters are there; copy \
         all of it",
        cut_off.len(),
        token.len()
    ));
    let changed = format!("{}AAAA", &token[..token.len() - 4]);
    replay(&changed).says("raddle: RADDLE_REPLAY: the token was changed: its checksum is wrong");
    replay("r1.?").says("raddle: RADDLE_REPLAY: not a token: it has a `?`");
    replay("r0.AAAA")
        .says("raddle: RADDLE_REPLAY: a token of version 0, which an older raddle wrote");
    replay("r9.AAAA")
        .says("raddle: RADDLE_REPLAY: a token of version 9, which a newer raddle wrote");
    replay("lost").says("raddle: RADDLE_REPLAY: `lost` is neither a token nor a schedule");
    replay("raddle schedule 2; check tests::other 3; main: begin").says(
        "raddle: RADDLE_REPLAY: the schedule is of check 3 of `tests::other`, and this is \
         `tests::nothing_is_lost`; run that test alone: cargo test tests::other -- --exact",
    );
    with("RADDLE_STRATEGY", "pct9").says(
        "raddle: RADDLE_STRATEGY: unknown strategy `pct9`; there are: auto, exhaustive, random, \
         pct, pos, urw, surw, history, noise, race-directed, atomicity-directed, deadlock-directed, enumerate, \
         coverage, coverage(METRIC), delay, and \
         pct:3 for bugs of depth 3, noise:0.1 for interruptions with probability 0.1, delay:3 for \
         at most 3 delays",
    );
    // A folder that no user can write to, not even root.
    let unsaved = with("RADDLE_DIR", "/dev/null");
    unsaved
        .says("panic after 1 execution (auto, seed 0)\n")
        .says(
            "note: the schedule could not be saved as \
             \"/dev/null/tally/tests.nothing_is_lost.schedule\": Not a directory (os error 20)\n",
        );
    assert_eq!(unsaved.replay_line(), line);
}

#[test]
fn examples_and_benches_of_the_package_have_the_feature() {
    let tally = Newcomer::new("examples", "tally");
    for targets in ["--examples", "--benches", "--all-targets"] {
        let build = tally.cargo(&format!("build {targets} --message-format json"));
        assert!(
            build.exits(0).packages().contains("corosensei"),
            "{targets}"
        );
    }
    tally.cargo("run --example show").exits(0).says("checked");
    // The same program is no part of the package's tests when it is a binary.
    tally.write("src/main.rs", &tally.read("examples/show.rs"));
    tally
        .cargo("build")
        .exits(101)
        .says("cannot find function `check` in crate `raddle`")
        .says("the item is gated behind the `check` feature");
}

#[test]
fn a_profile_that_aborts_is_refused() {
    // Cargo ignores such a profile for tests, but not for examples.
    let tally = Newcomer::new("panic_abort", "tally");
    let manifest = tally.read("Cargo.toml");
    tally.write(
        "Cargo.toml",
        &format!("{manifest}\n[profile.dev]\npanic = \"abort\"\n"),
    );
    let run = tally.cargo("run --example show");
    assert_ne!(run.code, Some(0));
    run.says(
        "raddle: a check unwinds threads, so it cannot run with panic = \"abort\"; remove that \
         from the profile the tests are built with",
    );
}

#[test]
fn a_bench_in_a_package_of_its_own_has_not_if_built_alone() {
    let workspace = Newcomer::new("bench_apart", "bench_apart");
    let alone = workspace
        .cargo("build -p speed --benches --message-format json")
        .exits(0);
    assert_eq!(
        alone.packages(),
        BTreeSet::from(["raddle", "speed", "tally"])
    );
    workspace
        .cargo("bench -p speed")
        .exits(0)
        .says("1000 counted");
    // Together with the tests of the other package, there is one raddle for both.
    workspace
        .cargo("build --workspace --benches")
        .exits(101)
        .says("mismatched types");
}

#[test]
fn locks_inside_a_dependency_are_controlled() {
    let workspace = Newcomer::new("dependency", "pool");
    let test = workspace.cargo("test -p app").exits(101);
    test.says("test tests::two_may_borrow_at_once ... FAILED")
        .says("deadlock after ")
        .says(" holds Mutex#1 (since pool/src/lib.rs:22), waits at pool/src/lib.rs:24 for Mutex#2")
        .says(" holds Mutex#2 (since pool/src/lib.rs:14), waits at pool/src/lib.rs:15 for Mutex#1");
    let build = workspace
        .cargo("build -p app --message-format json")
        .exits(0);
    assert_eq!(build.packages(), BTreeSet::from(["app", "pool", "raddle"]));
}

#[test]
fn the_crate_may_have_another_name() {
    let renamed = Newcomer::new("renamed", "renamed");
    renamed
        .cargo("test")
        .exits(0)
        .says("test tests::one_passes ... ok")
        .says("test tests::the_front_door_is_new_in_every_execution ... ok")
        .says("test tests::the_front_door_is_one_outside ... ok")
        .says("test the_second_never_passes ... ok")
        .says("test src/lib.rs - Door (line 7) ... ok");
    let build = renamed.cargo("build --message-format json").exits(0);
    assert_eq!(build.packages(), BTreeSet::from(["raddle", "renamed"]));
}

#[test]
fn tests_may_return_results_be_ignored_and_be_expected_to_panic() {
    let shapes = Newcomer::new("shapes", "shapes");
    shapes
        .cargo("test")
        .exits(101)
        .says("test tests::returns_ok ... ok")
        .says("test tests::returns_an_error ... FAILED")
        .says("the test returned an error: ParseIntError { kind: InvalidDigit }")
        .says("test tests::panics_as_expected - should panic ... ok")
        .says("test tests::a_deadlock_is_a_panic_too - should panic ... ok")
        .says("test tests::a_receive_that_is_tried_again_is_exhausted ... ok")
        .says("test tests::is_ignored ... ignored")
        .says("4 passed; 1 failed; 1 ignored");
}

#[test]
fn the_old_resolver_turns_the_feature_on_everywhere() {
    let old = Newcomer::new("resolver_one", "resolver_one");
    let build = old.cargo("build --message-format json").exits(0);
    assert!(build.packages().contains("corosensei"));
    let (edition, resolver) = ("edition = \"2018\"\n", "resolver = \"2\"\n");
    old.replace("Cargo.toml", edition, &format!("{edition}{resolver}"));
    let build = old.cargo("build --message-format json").exits(0);
    assert_eq!(build.packages(), BTreeSet::from(["raddle", "resolver_one"]));
    // A workspace without a package at its root has the old one, whatever its members say.
    let workspace = Newcomer::new("resolver_of_workspace", "bench_apart");
    workspace.replace("Cargo.toml", "resolver = \"3\"\n", "");
    let build = workspace
        .cargo("build -p tally --message-format json")
        .exits(0);
    assert!(build.packages().contains("corosensei"));
}

#[test]
fn a_trait_cannot_be_implemented_for_both_types() {
    let both = Newcomer::new("traits_for_both", "traits_for_both");
    both.cargo("check")
        .exits(101)
        .says("error[E0119]: conflicting implementations of trait `Reset`");
    both.cargo("check --tests").exits(0);
    let library = both.read("src/lib.rs");
    let (start, _) = library
        .split_once("impl Reset for std")
        .expect("the first of the two");
    let (_, end) = library
        .split_once("impl Reset for raddle")
        .expect("the second of the two");
    both.write("src/lib.rs", &format!("{start}impl Reset for raddle{end}"));
    both.cargo("check").exits(0);
    both.cargo("check --tests").exits(0);
}

#[test]
fn cargo_raddle_tests_and_replays() {
    let tally = Newcomer::new("command_line", "tally");
    let raddle = command_line(&tally);
    // Found, and told.
    let found = raddle("test --strategy random --seed 7").exits(1);
    found
        .says("checking 2 tests in 1 binary, ")
        .says("  ok  tally tests::one_and_one_is_two  no checks\n")
        .says("FAIL  tally tests::nothing_is_lost     panic after ")
        .says(" (random, seed 7)\n")
        .says("an update was lost")
        .says("\n1 passed, 1 failed (");
    // Replayed by token, by the saved file, and by a file of one's own.
    let line = found.replay_line();
    let token = line.strip_prefix("RADDLE_REPLAY=").expect("a token");
    let token = token.split(' ').next().expect("a token");
    let saved = "raddle/tally/tests.nothing_is_lost.schedule";
    let schedule = tally.read(saved);
    tally.write("mine.schedule", &schedule);
    for replay in [token, "", "mine.schedule"] {
        raddle(&format!("replay tests::nothing_is_lost {replay}"))
            .exits(1)
            .says("panic after 1 execution (replay)\n")
            .says("an update was lost");
    }
    raddle("replay tests::nothing_is_lots")
        .exits(2)
        .says("error: no test is named `tests::nothing_is_lots`")
        .says("did you mean `tests::nothing_is_lost`?");
    // What happened, for other programs.
    raddle("replay tests::nothing_is_lost --graphviz run.dot --std-trace run.std").exits(1);
    assert!(tally.read("run.dot").contains("store 1 to Tally.0"));
    assert!(tally.read("run.std").contains("|w(Tally_0)|"));
    assert!(tally.read("run.std.places").contains("src/lib.rs:15:"));
    let json = raddle("test --json").exits(1);
    assert!(json.stdout.lines().all(|line| line.starts_with('{')));
    json.says("\"kind\":\"Panic\"");
    raddle("test --message-format json")
        .exits(1)
        .says("\"code\":\"raddle::Panic\"")
        .says("\"file_name\":\"src/lib.rs\"");
    raddle("test --junit results.xml").exits(1);
    assert!(tally.read("results.xml").contains("type=\"Panic\""));
    // It is found again at once; an edit elsewhere makes no difference to the schedule.
    raddle("test")
        .exits(1)
        .says("panic after 1 execution (saved schedule)\n")
        .says("note: found again by the saved schedule ");
    let library = tally.read("src/lib.rs");
    tally.write(
        "src/lib.rs",
        &library.replace("/// Counts things", "/// Counts\n/// things"),
    );
    raddle(&format!("replay tests::nothing_is_lost {token}"))
        .exits(1)
        .says("an update was lost");
    // Kept for good: it fails until the bug is gone.
    tally.write("raddle-schedules/lost.schedule", &schedule);
    raddle("test")
        .exits(1)
        .says("panic after 1 execution (regression schedule)\n");
    raddle("test one_and_one").exits(0);
    raddle("test --budget soon").exits(2);
    tally.replace("src/lib.rs", LOST, KEPT);
    raddle("replay tests::nothing_is_lost")
        .exits(1)
        .says("the schedule does not fit the program");
    raddle("test")
        .exits(0)
        .says("  ok  tally tests::nothing_is_lost     every behaviour was run: 2 classes")
        .says("\n2 passed, 0 failed (");
    raddle("replay tests::nothing_is_lost")
        .exits(2)
        .says("no schedule is saved for `tests::nothing_is_lost`");
    assert_eq!(tally.read("raddle-schedules/lost.schedule"), schedule);
}

/// The text of the failure in a JUnit file, without how it was found.
fn junit_story(file: &str) -> String {
    let (_, rest) = file.split_once("<failure ").expect("a failure");
    let (_, rest) = rest.split_once('>').expect("a tag ends");
    let (story, _) = rest.split_once("</failure>").expect("a failure ends");
    let (headline, rest) = story.split_once('\n').expect("a headline");
    let (kind, _) = headline
        .split_once(" after ")
        .expect("a number of executions");
    let is_kept = |part: &&str| !part.contains("note: found again by ");
    let rest: Vec<&str> = rest.split("\n\n").filter(is_kept).collect();
    format!("{kind}\n{}", rest.join("\n\n"))
}

/// A panic after a stale read; its `help:` names the orderings of `ready`.
const STALE: &str = "\
use raddle::sync::atomic::{AtomicU32, Ordering::Relaxed};
use raddle::thread;

#[raddle::test]
fn published() {
    let (data, ready) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            data.store(42, Relaxed);
            ready.store(1, Relaxed);
        });
        if ready.load(Relaxed) == 1 {
            assert_eq!(data.load(Relaxed), 42);
        }
    });
}
";

#[test]
fn the_second_run_helps_as_the_first_did_in_every_format() {
    let tally = Newcomer::new("second_run", "tally");
    tally.write("tests/stale.rs", STALE);
    let raddle = command_line(&tally);
    let runs = ["first.xml", "second.xml"].map(|file| {
        let run = raddle(&format!("test --test stale --json --junit {file}")).exits(1);
        let events = run.stdout.lines().map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
            event
        });
        let mut failures = events.filter(|event| event["event"] == "failure");
        let failure = failures.next().expect("a failure")["failure"].take();
        (failure, junit_story(&tally.read(file)))
    });
    let [(first, in_first), (second, in_second)] = &runs;
    assert_eq!(second["search"], "saved schedule");
    for part in [
        "\n  why:    ",
        "\n  help: with `Release` instead of `Relaxed` at ",
    ] {
        assert!(in_first.contains(part), "{part} is not in {in_first}");
    }
    assert_eq!(in_first, in_second);
    let message = first["message"].as_str().expect("a message");
    assert!(message.contains("\nhelp: with `Release`"), "{message}");
    for part in ["message", "critical", "marks"] {
        assert!(!first[part].is_null(), "{part}");
        assert_eq!(first[part], second[part], "{part}");
    }
    // An editor underlines the store and the load.
    let messages = raddle("test --test stale --message-format json").exits(1);
    let message: serde_json::Value = serde_json::from_str(&messages.stdout).expect("one message");
    let spans = message["message"]["spans"].as_array().expect("spans");
    for (ordering, line) in [("Release", 10), ("Acquire", 12)] {
        let start = format!("`{ordering}` instead of `Relaxed` here ");
        let is_span = |span: &&serde_json::Value| {
            let label = span["label"].as_str().unwrap_or_default();
            label.starts_with(&start) && span["line_start"] == line
        };
        assert_eq!(spans.iter().filter(is_span).count(), 1, "{spans:#?}");
    }
}

#[test]
fn cargo_raddle_has_the_flags_of_cargo() {
    let tally = Newcomer::new("flags_of_cargo", "tally");
    let raddle = command_line(&tally);
    let names = |text: &str| {
        let names = text.lines().filter(|line| line.ends_with(": test"));
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        names
    };
    // What cargo selects, raddle selects.
    for flags in [
        "--lib",
        "--tests",
        "-p tally",
        "--workspace --lib",
        "--lib --manifest-path Cargo.toml",
        "--lib --no-default-features -v",
        "--lib --all-features --color never",
    ] {
        let listed = raddle(&format!("test --list {flags}")).exits(0);
        let by_cargo = tally.cargo(&format!("test {flags} -- --list --format terse"));
        let by_cargo = names(&by_cargo.exits(0).stdout);
        assert_eq!(names(&listed.stdout), by_cargo, "{flags}");
        assert_eq!(by_cargo.len(), 2, "{flags}");
    }
    raddle("test --lib --features no_such_feature")
        .exits(2)
        .says("error: the build failed");
    raddle("test --test no_such_target").exits(2);
    // The second run says what the first did.
    raddle("test --lib --junit first.xml").exits(1);
    raddle("test --lib --junit second.xml")
        .exits(1)
        .says("panic after 1 execution (saved schedule)");
    let [first, second] = ["first.xml", "second.xml"].map(|file| junit_story(&tally.read(file)));
    assert!(first.contains("\n  why:    "), "{first}");
    assert_eq!(first, second);
    // A part of a name.
    raddle("replay --lib lost")
        .exits(1)
        .says("`lost` is `tests::nothing_is_lost`")
        .says("an update was lost");
    raddle("replay --lib tests")
        .exits(2)
        .says("error: several tests have `tests` in their name")
        .says("  note: tests::nothing_is_lost")
        .says("  note: tests::one_and_one_is_two");
    // A bad setting is one error, and no test runs.
    raddle("test --lib --strategy foo")
        .exits(2)
        .says("unknown strategy `foo`")
        .does_not_say("panicked");
    // A guarantee that is not reached.
    tally.replace("src/lib.rs", LOST, KEPT);
    // The fifth run is the replay of the saved schedule.
    raddle("test --lib --strategy random --max-executions 5 --require bounded:1")
        .exits(1)
        .says("FAIL  tally tests::nothing_is_lost     less than required after 4 executions")
        .says("`bounded:1` is required, and `sampled` was reached: ");
    raddle("test --lib --require exhaustive")
        .exits(0)
        .says("  ok  tally tests::nothing_is_lost     every behaviour was run: 2 classes in ");
}

/// A schedule that still fits when the bug is gone, and passes.
#[test]
fn a_kept_schedule_passes_once_the_bug_is_gone() {
    let tally = Newcomer::new("kept_schedule", "tally");
    let check = "assert_eq!(tally.total(), 2, \"an update was lost\");";
    tally.cargo("test nothing").exits(101);
    let schedule = tally.read("raddle/tally/tests.nothing_is_lost.schedule");
    tally.write("raddle-schedules/lost.schedule", &schedule);
    // The test was wrong, not the program: nothing that threads do to each other has changed.
    tally.replace("src/lib.rs", check, "assert!(tally.total() >= 1);");
    tally
        .cargo("test nothing -- --nocapture")
        .exits(0)
        .says("every behaviour was run: 4 classes")
        .does_not_say("tests nothing");
    // And fails again when it is back.
    tally.replace("src/lib.rs", "assert!(tally.total() >= 1);", check);
    tally
        .cargo("test nothing")
        .exits(101)
        .says("panic after 1 execution (regression schedule)\n");
}

/// What a line of a coverage table says was covered.
fn covered(finished: &Finished, metric: &str) -> u32 {
    let lines = finished.stdout.lines().chain(finished.stderr.lines());
    let mut lines = lines.map(str::split_whitespace);
    let mut line = lines.find(|line| line.clone().next() == Some(metric));
    let count = line.as_mut().and_then(|line| line.nth(1));
    count.expect("the metric is shown").parse().unwrap()
}

#[test]
fn what_is_remembered_survives_edits_elsewhere() {
    let tally = Newcomer::new("remembered", "tally");
    tally.replace(
        "src/lib.rs",
        "#[raddle::test]",
        "#[raddle::test(remember = true, strategy = \"coverage(pset)\", max_executions = 60)]",
    );
    tally.replace(
        "src/lib.rs",
        "assert_eq!(tally.total(), 2, \"an",
        "assert!(tally.total() <= 2, \"an",
    );
    let run = |executions: &str| {
        let mut command = tally.command(env!("CARGO"));
        let test = "test --offline tests::nothing_is_lost -- --exact --nocapture";
        let command = command.args(test.split(' '));
        finish(command.env("RADDLE_MAX_EXECUTIONS", executions)).exits(0)
    };
    let first = run("60");
    first.does_not_say("earlier");
    let all = covered(&first, "pset");
    tally.replace(
        "src/lib.rs",
        "/// Counts things",
        "/// Nobody asked for this.\npub fn two() -> u32 {\n    2\n}\n\n/// Counts things",
    );
    let second = run("1");
    second
        .says(" in 1 run, ")
        .says(" of them known from 1 earlier check with 60 runs");
    assert_eq!(covered(&second, "pset"), all, "the places are the same");
    // The one execution of that run covers less: no thread stores what another was the last to read.
    fs::remove_file(builds().join("newcomer/remembered/raddle/runs.redb")).unwrap();
    let alone = run("1");
    alone.does_not_say("earlier");
    assert_eq!(covered(&alone, "pset") + 1, all);
    tally.replace("src/lib.rs", LOST, KEPT);
    run("1").does_not_say("earlier");
}

/// The name of one test is part of the name of another.
#[test]
fn the_printed_line_runs_one_test() {
    let tally = Newcomer::new("one_test", "tally");
    let library = tally.read("src/lib.rs");
    let (_, test) = library.split_once("    #[raddle::test]\n").expect("a test");
    let (test, _) = test.split_once("\n    }\n").expect("its end");
    let other = test.replace("nothing_is_lost", "nothing_is_lost_either");
    let other = format!("    #[raddle::test]\n{other}\n    }}\n\n    #[raddle::test]\n");
    tally.write(
        "src/lib.rs",
        &library.replacen("    #[raddle::test]\n", &other, 1),
    );
    let both = tally.cargo("test tests::nothing_is_lost").exits(101);
    both.says("test tests::nothing_is_lost ... FAILED\n")
        .says("test tests::nothing_is_lost_either ... FAILED\n");
    let one = tally
        .cargo("test tests::nothing_is_lost -- --exact")
        .exits(101);
    let only_one = |finished: &Finished| {
        finished
            .says("panic after 1 execution (replay)\n")
            .says("test tests::nothing_is_lost ... FAILED\n")
            .says("0 passed; 1 failed; ")
            .does_not_say("nothing_is_lost_either");
    };
    only_one(&tally.shell(&one.replay_line()).exits(101));
    let raddle = command_line(&tally);
    only_one(&raddle("replay tests::nothing_is_lost").exits(1));
    raddle("test tests::nothing_is_lost")
        .exits(1)
        .says("checking 2 tests in 1 binary");
    raddle("test tests::nothing_is_lost --exact")
        .exits(1)
        .says("checking 1 test in 1 binary")
        .does_not_say("nothing_is_lost_either");
    raddle("test nothing_is_lost --exact").exits(2);
    raddle("test --exact").exits(2).says("<FILTER>");
}

/// A crate that depends on raddle only has schedulers of its own.
#[test]
fn a_scheduler_of_ones_own_finds_bugs_and_its_mistakes_are_named() {
    let own = Newcomer::new("own_scheduler", "own_scheduler");
    let found = own.cargo("test round_robin").exits(101);
    found
        .says("panic after 1 execution (RoundRobin)\n")
        .says("assertion `left == right` failed: a visit was lost\n");
    let line = found.replay_line();
    own.shell(&line)
        .exits(101)
        .says("panic after 1 execution (replay)\n")
        .says("assertion `left == right` failed: a visit was lost\n");
    own.cargo("test priorities").exits(0);
    // main begins, spawns, loads, stores, waits for the other thread, and is chosen all the same.
    own.cargo("test stubborn").exits(101).says(
        "raddle: the scheduler Stubborn chose thread main, which is blocked\nafter 4 events; \
         enabled are:\n  main.1 (begin at tests/scheduled.rs:",
    );
    // The environment replaces the scheduler, the wrong one as well.
    own.shell("RADDLE_STRATEGY=exhaustive cargo test --offline stubborn")
        .exits(101)
        .says(" (exhaustive)\n")
        .says("a visit was lost\n");
}

#[test]
fn a_dependency_that_names_loom_is_checked_through_the_patch() {
    let below = Newcomer::new("loom_below", "loom_below");
    let suite = "RUSTFLAGS='--cfg loom' cargo test --offline --test signal";
    let test = below.shell(suite).exits(101);
    test.says("test a_signal_is_seen ... ok")
        .says("test a_parcel_is_handed_over ... FAILED")
        .says("data race after ")
        .says("main's load of Signal.0 at signal/src/lib.rs:22 takes the value");
    below.replace(
        "signal/src/lib.rs",
        "Ordering::Relaxed",
        "Ordering::Acquire",
    );
    below
        .shell(suite)
        .exits(0)
        .says("test a_parcel_is_handed_over ... ok");
    // The recipe is that of the book, but for the place.
    let book = fs::read_to_string(workspace().join("docs/src/from-loom.md")).unwrap();
    let manifest = below.read("Cargo.toml");
    let (_, recipe) = manifest.split_once("[patch.crates-io]\n").unwrap();
    let place = recipe.split('"').nth(1).unwrap();
    let shown = format!(
        "  loom = {{ path = \"{}\" }}\n",
        "../raddle/crates/loom/patch"
    );
    assert!(place.ends_with("/loom/patch") && book.contains(&shown));
}
