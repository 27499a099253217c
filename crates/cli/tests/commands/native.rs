//! `cargo raddle test --native` and `setup --std`: the calls of cargo and the compiler, and the errors if these
//! fail.

use crate::support::{Workspace, finish};

const HOST: &str = "x86_64-unknown-linux-gnu";
const INSTRUMENTED: &str = "__tsan_write8 __tsan_atomic64_fetch_add";

fn run(workspace: &Workspace, arguments: &[&str]) -> (Option<i32>, String) {
    let finished = finish(&mut workspace.native_command(arguments, HOST));
    (finished.code, finished.stderr)
}

#[test]
fn tests_are_instrumented_and_each_runs_under_control() {
    let workspace = Workspace::new("tests_are_built_for_this");
    workspace.build_from("plain-tests", &["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    let (code, stderr) = run(&workspace, &["test", "--native", "--memory", "rc11"]);
    assert_eq!(code, Some(0), "{stderr}");
    let calls = workspace.calls();
    let line = |start: &str| {
        let mut lines = calls.lines().filter(|line| line.starts_with(start));
        lines
            .next()
            .unwrap_or_else(|| panic!("no {start} in {calls}"))
    };
    let build = line("cargo test --no-run");
    for part in [
        &format!("--target {HOST} --config "),
        " --target-dir ",
        "/target/raddle-native",
        "profile.test.opt-level=0",
        "-Cpasses=function(tsan)",
        "/raddle-tsan/libtsan.so",
    ] {
        assert!(build.contains(part), "no {part} in {build}");
    }
    let words = "run one --exact --include-ignored --nocapture --test-threads=1 in";
    line(words);
    for setting in ["RADDLE_NATIVE=test", "RADDLE_MEMORY=rc11", "RADDLE_DIR="] {
        line(&format!("    {setting}"));
    }
}

/// Functions of dependencies are kept apart and as they are, too: flags hold for all crates, and settings of cargo
/// for incremental compilation do not.
#[test]
fn functions_of_optimised_tests_are_kept_as_they_are() {
    const KEEPS: [&str; 4] = [
        "-Cllvm-args=-inline-threshold=-1000000",
        "-Clink-dead-code",
        "-Cincremental=",
        "/target/raddle-native/incremental",
    ];
    for (profile, is_optimised) in [("--release", true), ("--profile=fast", true), ("-v", false)] {
        let workspace = Workspace::new(&format!("functions_are_kept{profile}"));
        workspace.build_from("plain-tests", &["one"]);
        workspace.write("rustc.object", INSTRUMENTED);
        let (code, stderr) = run(&workspace, &["test", "--native", "--", profile]);
        assert_eq!(code, Some(0), "{stderr}");
        let calls = workspace.calls();
        let mut lines = calls.lines();
        let build = lines.find(|line| line.starts_with("cargo test --no-run"));
        let build = build.unwrap_or_else(|| panic!("{calls}"));
        let kept = KEEPS.map(|flag| build.contains(flag));
        assert_eq!(
            kept,
            [true, is_optimised, is_optimised, is_optimised],
            "{build}"
        );
        assert_eq!(
            stderr.contains("raddle: optimised code"),
            is_optimised,
            "{stderr}"
        );
    }
}

#[test]
fn a_binary_without_libtest_is_one_test() {
    let workspace = Workspace::new("a_test_with_a_main");
    workspace.build_from("other-tests", &["queue"]);
    workspace.write("rustc.object", INSTRUMENTED);
    // The fake binary has no events for a run without the name of a test.
    let (_, stderr) = run(&workspace, &["test", "--native"]);
    assert!(stderr.contains("checking 1 test in 1 binary"), "{stderr}");
    let calls = workspace.calls();
    assert!(calls.contains("run  in "), "{calls}");
    assert!(calls.contains("    RADDLE_NATIVE=program\n"), "{calls}");
    assert!(!calls.contains("list"), "{calls}");
}

/// As in the printed command of a replay.
#[test]
fn an_exact_name_selects_one_test() {
    let workspace = Workspace::new("an_exact_name");
    workspace.build_from("plain-tests", &["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    let (code, stderr) = run(&workspace, &["test", "--native", "one", "--exact"]);
    assert_eq!(code, Some(0), "{stderr}");
    let calls = workspace.calls();
    assert!(calls.contains("list one --exact --list"), "{calls}");
    // A binary without libtest has the name of the test.
    for (filter, count) in [("queue", 1), ("que", 0)] {
        let workspace = Workspace::new(&format!("an_exact_name_{filter}"));
        workspace.build_from("other-tests", &["queue"]);
        workspace.write("rustc.object", INSTRUMENTED);
        let (_, stderr) = run(&workspace, &["test", "--native", filter, "--exact"]);
        let found = stderr.matches("checking 1 test in 1 binary").count();
        assert_eq!(found, count, "{stderr}");
    }
}

#[test]
fn tests_that_use_raddle_are_skipped() {
    let workspace = Workspace::new("tests_that_use_raddle");
    workspace.build(&["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    let (code, stderr) = run(&workspace, &["test", "--native"]);
    assert_eq!(code, Some(0));
    let warning = "warning: the tests of `queue` are skipped: they use raddle's own types\n";
    assert!(stderr.contains(warning), "{stderr}");
    assert!(!workspace.calls().contains("\nrun "));
}

#[test]
fn the_compiler_is_probed_once() {
    let workspace = Workspace::new("the_compiler_is_tried_once");
    workspace.build_from("plain-tests", &["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    for _ in 0..2 {
        assert_eq!(run(&workspace, &["test", "--native"]).0, Some(0));
    }
    let compiled = std::fs::read_to_string(workspace.directory.join("compiled")).unwrap();
    assert_eq!(compiled.matches("--emit obj").count(), 1, "{compiled}");
}

#[test]
fn a_compiler_without_instrumentation_is_an_error() {
    let workspace = Workspace::new("a_compiler_that_does_not");
    workspace.build_from("plain-tests", &["one"]);
    let (code, stderr) = run(&workspace, &["test", "--native"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        stderr,
        "error: rustc 1.99.0 (fake) does not instrument programs, neither with stable nor with unstable flags\n  \
         note: it printed: error: no such pass\n  \
         help: try the current stable compiler: `cargo +stable raddle test --native`\n"
    );
    workspace.write("rustc.object", "nothing");
    let (_, stderr) = run(&workspace, &["test", "--native"]);
    assert!(
        stderr.contains("the flags are accepted, but have no effect"),
        "{stderr}"
    );
    let compiled = std::fs::read_to_string(workspace.directory.join("compiled")).unwrap();
    assert!(compiled.contains("-Zsanitizer=thread"), "{compiled}");
}

#[test]
fn other_systems_and_targets_are_refused() {
    let workspace = Workspace::new("other_systems");
    workspace.build_from("plain-tests", &["one"]);
    let host = "x86_64-unknown-linux-musl";
    let finished = finish(&mut workspace.native_command(&["test", "--native"], host));
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("x86-64 Linux with glibc only"));
    for target in ["wasm32-wasip1", HOST] {
        let (code, stderr) = run(&workspace, &["test", "--native", "--", "--target", target]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains("\n  help: remove `--target`"), "{stderr}");
        assert!(stderr.contains(target), "{stderr}");
    }
}

#[test]
fn doc_tests_are_refused() {
    let workspace = Workspace::new("native_doc_tests");
    let (code, stderr) = run(&workspace, &["test", "--native", "--", "--doc"]);
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("error: doc tests cannot be checked with --native\n"));
}

#[test]
fn a_standard_library_needs_its_sources() {
    let workspace = Workspace::new("a_standard_library");
    let (code, stderr) = run(&workspace, &["setup", "--std"]);
    assert_eq!(code, Some(2));
    let help = "library/Cargo.toml\n  help: `rustup component add rust-src`\n";
    assert!(stderr.ends_with(help), "{stderr}");
    assert_eq!(workspace.calls(), "");
}

#[test]
fn settings_of_native_programs_need_native() {
    let workspace = Workspace::new("flags_of_native");
    let (code, stderr) = run(&workspace, &["test", "--plain", "explore"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--native"), "{stderr}");
    assert_eq!(workspace.calls(), "");
}
