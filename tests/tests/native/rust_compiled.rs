//! Rust programs that are compiled in other ways: optimised, as `cargo raddle` has it, and with a standard library
//! that is instrumented. They are what they are in library mode, too.
//!
//! Such a library takes minutes to build, so what is about it is left out if there is none beside the library
//! under test; where `RADDLE_STD_REQUIRED` is set, it is built first.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::rust_regions::{orders_of_senders, quiet, twins};
use crate::rust_std::{in_the_library, library};
use crate::support::{EXHAUSTIVE, Finished, LIBRARY, command, preloaded, run, rust};

/// Functions stay where they are.
const APART: [&str; 2] = [
    "-Cllvm-args=-inline-threshold=-1000000",
    "-Cllvm-args=-inlinehint-threshold=-1000000",
];

fn check(program: &Path, name: &str) -> Finished {
    run(program, &[name], &[EXHAUSTIVE, preloaded()])
}

/// The folder with the instrumented library for the compiler of these tests.
static SYSROOT: LazyLock<Option<String>> = LazyLock::new(|| {
    if std::env::var_os("RADDLE_STD_REQUIRED").is_some() {
        command(&["setup", "--std"]).exits(0);
    }
    let version = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let folders = std::fs::read_dir(LIBRARY.with_file_name("raddle-std")).ok()?;
    let mut folders = folders.map(|folder| folder.unwrap().path());
    let found = folders.find(|folder| {
        let built_for = std::fs::read(folder.join("complete")).unwrap_or_default();
        built_for.starts_with(&version)
    });
    found.map(|folder| folder.to_str().unwrap().to_owned())
});

/// Compiles a program with the instrumented library, if there is one.
fn instrumented(name: &str) -> Option<PathBuf> {
    let sysroot = format!("--sysroot={}", SYSROOT.as_ref()?);
    let flags = [&sysroot, APART[0], APART[1]];
    Some(rust(name, "rust-instrumented", &flags))
}

/// Programs by name, and how many classes each has in library mode and in a program.
fn differences(
    all: &[(&'static str, fn())],
    program: &Path,
) -> Vec<(&'static str, u64, Option<u64>)> {
    let mut different = Vec::new();
    for &(name, body) in all {
        let report = in_the_library(body);
        report.assert_ok();
        let finished = check(program, name);
        let found = (finished.code == Some(0)).then(|| finished.all_classes());
        let expected = report.classes() * orders_of_senders(name);
        if found != Some(expected) {
            different.push((name, expected, found));
        }
    }
    different
}

#[test]
fn optimised_programs_have_the_classes_of_the_library() {
    let flags = ["-Copt-level=2", APART[0], APART[1]];
    let sync = rust("sync.rs", "rust-optimised", &flags);
    assert_eq!(differences(library::CORRECT, &sync), []);
    let twins = rust("twins_main.rs", "rust-optimised", &flags);
    // Compilers do not tell of `fetch_max`, and leave no trace of `spin_loop`.
    let is_told = |name: &str| !["exchanges", "spin"].contains(&name);
    let all = twins::ALL.iter().copied();
    let all: Vec<_> = all.filter(|(name, _)| is_told(name)).collect();
    assert_eq!(differences(&all, &twins), []);
}

/// However a program was compiled, a primitive is recognised as a whole, or the program is not checked: half of a
/// lock would be a false deadlock.
#[test]
fn no_program_has_half_a_primitive() {
    let refused = "the program was not checked: functions were inlined";
    let mut checked = 0;
    for level in ["0", "1", "2", "3"] {
        for debug in ["line-tables-only", "1", "2"] {
            let flags = [
                format!("-Copt-level={level}"),
                format!("-Cdebuginfo={debug}"),
            ];
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let program = rust("one_lock.rs", &format!("half-{level}-{debug}"), &flags);
            let finished = check(&program, "");
            match finished.text.contains(refused) {
                true => {
                    assert_eq!(debug, "line-tables-only", "{level}");
                    finished
                        .exits(2)
                        .says("compile it with `debug = 1` or more");
                }
                false => {
                    // Which of the two threads has the lock first.
                    assert_eq!(finished.exits(0).all_classes(), 2, "{level} {debug}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 8, "programs with whole names are checked");
    let flags = ["-Copt-level=2", "-Cdebuginfo=line-tables-only"];
    let sync = rust("sync.rs", "half-sync", &flags);
    for (name, _) in library::CORRECT {
        check(&sync, name).exits(2).says(refused);
    }
}

#[test]
fn programs_with_an_instrumented_std_have_the_classes_of_the_library() {
    let Some(sync) = instrumented("sync.rs") else {
        return;
    };
    assert_eq!(differences(library::CORRECT, &sync), []);
    let twins = instrumented("twins_main.rs").unwrap();
    assert_eq!(differences(twins::ALL, &twins), []);
}

#[test]
fn what_is_right_has_no_race_with_an_instrumented_std() {
    if let Some(program) = instrumented("quiet.rs") {
        for name in quiet() {
            check(&program, &name).exits(0).all_classes();
        }
    }
}

/// What a function reads that came compiled, only an instrumented library says.
#[test]
fn races_inside_of_std_are_seen_if_it_is_instrumented() {
    let plain = rust("races.rs", "rust-not-instrumented", &[]);
    check(&plain, "valid").exits(0).all_classes();
    if let Some(program) = instrumented("races.rs") {
        let finished = check(&program, "valid");
        finished.exits(1).says("data race").says("races.rs");
    }
}
