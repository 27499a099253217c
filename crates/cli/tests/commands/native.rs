//! `cargo raddle test --native` and `setup --std`: what cargo and the compiler are asked for, and what is said
//! when they do not do it.

use crate::support::{Workspace, finish};

const HOST: &str = "x86_64-unknown-linux-gnu";
const INSTRUMENTED: &str = "__tsan_write8 __tsan_atomic64_fetch_add";

fn run(workspace: &Workspace, arguments: &[&str]) -> (Option<i32>, String) {
    let finished = finish(&mut workspace.native_command(arguments, HOST));
    (finished.code, finished.stderr)
}

#[test]
fn tests_are_built_for_this_and_each_is_run_under_control() {
    let workspace = Workspace::new("tests_are_built_for_this");
    workspace.build_from("plain-tests", &["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    let (code, said) = run(&workspace, &["test", "--native", "--memory", "rc11"]);
    assert_eq!(code, Some(0), "{said}");
    let calls = workspace.calls();
    let line = |start: &str| {
        let mut lines = calls.lines().filter(|line| line.starts_with(start));
        lines
            .next()
            .unwrap_or_else(|| panic!("no {start} in {calls}"))
    };
    let build = line("cargo test --no-run");
    for part in [
        &format!("--target {HOST} --target-dir "),
        "/target/raddle-native --config",
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

#[test]
fn a_test_with_a_main_of_its_own_is_run_whole() {
    let workspace = Workspace::new("a_test_with_a_main");
    workspace.build_from("other-tests", &["queue"]);
    workspace.write("rustc.object", INSTRUMENTED);
    // Without a name, the script has nothing to say.
    let (_, said) = run(&workspace, &["test", "--native"]);
    assert!(said.contains("checking 1 test in 1 binary"), "{said}");
    let calls = workspace.calls();
    assert!(calls.contains("run  in "), "{calls}");
    assert!(calls.contains("    RADDLE_NATIVE=program\n"), "{calls}");
    assert!(!calls.contains("list"), "{calls}");
}

#[test]
fn tests_that_use_raddle_are_left_out() {
    let workspace = Workspace::new("tests_that_use_raddle");
    workspace.build(&["one"]);
    workspace.write("rustc.object", INSTRUMENTED);
    let (code, said) = run(&workspace, &["test", "--native"]);
    assert_eq!(code, Some(0));
    let warning = "warning: the tests of `queue` are left out: they use raddle's own types\n";
    assert!(said.contains(warning), "{said}");
    assert!(!workspace.calls().contains("\nrun "));
}

#[test]
fn the_compiler_is_tried_once() {
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
fn a_compiler_that_does_not_do_it_is_told_of() {
    let workspace = Workspace::new("a_compiler_that_does_not");
    workspace.build_from("plain-tests", &["one"]);
    let (code, said) = run(&workspace, &["test", "--native"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        said,
        "error: rustc 1.99.0 (fake) does not instrument programs, neither by its stable flags nor by its own\n  \
         note: it said: error: no such pass\n  \
         help: try the current stable compiler: `cargo +stable raddle test --native`\n"
    );
    workspace.write("rustc.object", "nothing");
    let (_, said) = run(&workspace, &["test", "--native"]);
    assert!(
        said.contains("it took the flags, but what it made calls nobody"),
        "{said}"
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
        let (code, said) = run(&workspace, &["test", "--native", "--", "--target", target]);
        assert_eq!(code, Some(2));
        assert!(
            said.ends_with("`--target` out\n") || said.contains("leave `--target` out;"),
            "{said}"
        );
        assert!(said.contains(target), "{said}");
    }
}

#[test]
fn doc_tests_are_refused() {
    let workspace = Workspace::new("native_doc_tests");
    let (code, said) = run(&workspace, &["test", "--native", "--", "--doc"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: doc tests cannot be checked with --native\n"));
}

#[test]
fn a_standard_library_needs_its_sources() {
    let workspace = Workspace::new("a_standard_library");
    let (code, said) = run(&workspace, &["setup", "--std"]);
    assert_eq!(code, Some(2));
    let help = "library/Cargo.toml\n  help: `rustup component add rust-src`\n";
    assert!(said.ends_with(help), "{said}");
    assert_eq!(workspace.calls(), "");
}

#[test]
fn flags_that_only_native_programs_have_need_the_word() {
    let workspace = Workspace::new("flags_of_native");
    let (code, said) = run(&workspace, &["test", "--plain", "explore"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--native"), "{said}");
    assert_eq!(workspace.calls(), "");
}
