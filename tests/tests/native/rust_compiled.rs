//! Rust programs that are compiled in other ways: optimised, as `cargo raddle` has it, and with a standard library
//! that is instrumented. They are what they are in library mode, too.
//!
//! Such a library takes minutes to build, so what is about it is left out if there is none beside the library
//! under test; where `RADDLE_STD_REQUIRED` is set, it is built first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::rust_regions::{all_is_quiet, orders_of_senders, quiet, twins};
use crate::rust_std::{in_the_library, library};
use crate::support::{EXHAUSTIVE, Finished, LIBRARY, command, folder, preloaded, run, rust};

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
    let finished = check(&twins, "exchanges");
    finished.exits(0).says("not every behaviour was run");
    finished.says("`fetch_max` was inlined, and its accesses are not seen");
    // Compilers leave no trace of `spin_loop`.
    let flags = [flags[0], flags[1], flags[2], "--cfg=without_maximum"];
    let twins = rust("twins_main.rs", "rust-optimised-seen", &flags);
    let all = twins::ALL.iter().copied();
    let all = all.filter(|(name, _)| !["exchanges", "spin"].contains(name));
    assert_eq!(differences(&all.collect::<Vec<_>>(), &twins), []);
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

/// Ways to optimise, and whether std is optimised together with the program.
const WAYS: [(&str, &[&str], bool); 7] = [
    ("one", &["-Copt-level=1"], false),
    ("two", &["-Copt-level=2"], false),
    ("three", &["-Copt-level=3", "-Cdebuginfo=1"], false),
    ("small", &["-Copt-level=s"], false),
    ("one-unit", &["-Copt-level=2", "-Ccodegen-units=1"], false),
    ("fat", &["-Copt-level=2", "-Clto=fat"], true),
    (
        "thin-apart",
        &["-Copt-level=2", "-Clto=thin", APART[0], APART[1]],
        true,
    ),
];

/// The program is what it is in library mode, or is not checked, before anything was said of it.
fn is_whole_or_refused((name, body): (&str, fn()), program: &Path, is_joined: bool) -> bool {
    let finished = check(program, name);
    if finished
        .text
        .contains("raddle: the program was not checked: ")
    {
        finished.exits(2);
        assert!(!finished.text.contains("every behaviour"), "{name}");
        return false;
    }
    assert!(!is_joined, "{name}: {}", finished.text);
    let classes = in_the_library(body).classes();
    let found = finished.exits(0).all_classes();
    assert_eq!(found, classes, "{name}: {program:?}");
    true
}

/// Every primitive of std's, optimised in every way: locks, condition variables, `Once`, barriers, parking, scopes.
#[test]
fn primitives_are_recognised_as_a_whole_however_a_program_is_optimised() {
    let mut checked = 0;
    for (way, flags, is_joined) in WAYS {
        let program = rust("sync.rs", &format!("whole-{way}"), flags);
        for &body in library::CORRECT {
            checked += usize::from(is_whole_or_refused(body, &program, is_joined));
        }
    }
    // Where std is as it came, all is known by its name or its word.
    assert!(checked >= 4 * library::CORRECT.len(), "{checked}");
}

/// Programs that each use one primitive which is known where a thread enters a function: channels of every kind,
/// scopes, `is_finished`, and atomics.
const ENTERED: [&str; 11] = [
    "unbounded",
    "bounded",
    "rendezvous",
    "polled",
    "timed",
    "clones",
    "scope",
    "is_finished",
    "maximum",
    "weak",
    "weak_flag",
];

/// Why less than every behaviour is claimed.
const LESS: [&str; 2] = ["` was inlined, and ", "` was changed by an optimiser, and "];

/// Each is compiled alone, so that nothing but its own primitive decides.
#[test]
fn what_is_known_by_entry_is_known_as_a_whole_or_not_at_all() {
    let ways = WAYS.iter().filter(|(.., is_joined)| !is_joined);
    let ways = ways.map(|&(way, flags, _)| (way, flags));
    let cargo_raddle = format!("-Cincremental={}", folder("incremental").display());
    let cargo_raddle = [
        "-Copt-level=2",
        APART[0],
        APART[1],
        "-Clink-dead-code",
        // Functions that the linker keeps would be part of the program.
        "-Clink-arg=-Wl,--gc-sections",
        "-Clto=off",
        &cargo_raddle,
    ];
    let ways = ways.chain([
        // What is not inlined has fewer parameters than in its source.
        ("fewer", &["-Copt-level=1", APART[0], APART[1]][..]),
        ("apart", &["-Copt-level=2", APART[0], APART[1]]),
        ("cargo-raddle", &cargo_raddle),
        // Inlined after instrumentation, so that a function has several entries.
        (
            "late",
            &["-Copt-level=2", APART[0], APART[1], "-Clink-dead-code"],
        ),
    ]);
    let (mut refused, mut less) = (BTreeSet::new(), BTreeSet::new());
    for name in ENTERED {
        let alone = format!("--cfg={name}");
        let plain = rust("entered.rs", &format!("entered-{name}"), &[&alone]);
        let expected = check(&plain, "").exits(0).all_classes();
        for (way, flags) in ways.clone() {
            let flags: Vec<&str> = flags.iter().copied().chain([&*alone]).collect();
            let program = rust("entered.rs", &format!("entered-{name}-{way}"), &flags);
            let finished = check(&program, "");
            let text = &finished.text;
            if text.contains("is recognised only where a thread enters it") {
                finished.exits(2).says("build it with `cargo raddle`");
                assert!(!text.contains("behaviour was run"), "{name} {way}: {text}");
                assert!(!["apart", "cargo-raddle"].contains(&way), "{name}: {text}");
                refused.insert(name);
            } else if LESS.iter().any(|why| text.contains(why)) {
                finished.exits(0).says("not every behaviour was run");
                assert_ne!(way, "cargo-raddle", "{name}: {text}");
                less.insert(name);
            } else {
                assert_eq!(finished.exits(0).all_classes(), expected, "{name} {way}");
            }
        }
    }
    assert!(refused.contains("polled"), "{refused:?}");
    assert_eq!(less, BTreeSet::from(["maximum", "weak", "weak_flag"]));
}

/// What a program asks of a count is an operation, wherever the question was inlined. A check in a program that cannot
/// begin again says that it has left out the other answer.
#[test]
fn counts_that_a_program_asks_for_are_part_of_its_behaviour() {
    let ways = WAYS.iter().filter(|(.., is_joined)| !is_joined);
    let ways = ways.map(|&(way, flags, _)| (way, flags));
    for (way, flags) in ways.chain([("plain", &[][..])]) {
        let flags: Vec<&str> = flags.iter().copied().chain(["--cfg=count"]).collect();
        let program = rust("entered.rs", &format!("count-{way}"), &flags);
        let finished = check(&program, "");
        finished.exits(0).says("not every behaviour was run");
        finished.says("the order in which threads change the count of an `Arc` matters");
        let settings = [EXHAUSTIVE, preloaded(), ("RADDLE_ARC", "counted")];
        let finished = run(&program, &[""], &settings);
        // The other thread has dropped its handle, or has not.
        assert_eq!(finished.exits(0).all_classes(), 2, "{way}");
    }
}

/// A lock is released by an instruction that is in no function of std's any more. Of two threads each may have the
/// lock first, and the other may come while it is held or after that.
#[test]
fn locks_are_known_by_their_words_where_functions_were_merged() {
    let flags = ["-Copt-level=2", "-Ccodegen-units=1"];
    let program = rust("merged_ends.rs", "merged-ends", &flags);
    for name in ["mutex", "rwlock"] {
        assert_eq!(check(&program, name).exits(0).all_classes(), 4, "{name}");
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
            all_is_quiet(&program, &name);
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

/// A loop that counts its rounds is not taken for one that waits, wherever the optimiser keeps the counter.
#[test]
fn counted_rounds_are_part_of_the_behaviour() {
    let names = [
        "register",
        "float",
        "pointer",
        "stack",
        "heap",
        "thread-local",
        "static",
    ];
    for (way, flags) in [
        ("plain", &[][..]),
        ("small", &["-Copt-level=1"]),
        ("optimised", &["-Copt-level=3", "-Ctarget-cpu=native"]),
    ] {
        let program = rust("counted_rounds.rs", &format!("counted-rounds-{way}"), flags);
        for name in names {
            check(&program, name).exits(1).says("deadlock");
        }
    }
}
