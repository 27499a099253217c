//! Programs of both compilers, with OpenMP and wide atomics, and what cannot be checked.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the other tests of programs")]
mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use support::{COMPILERS, compile, run};

const EXHAUSTIVE: (&str, &str) = ("RADDLE_STRATEGY", "exhaustive");

fn classes(program: &Path, name: &str) -> u64 {
    run(program, &[name], &[EXHAUSTIVE]).exits(0).all_classes()
}

#[test]
fn both_compilers_have_the_same_classes() {
    for (source, names) in [
        (
            "counts.c",
            &[
                "mutex-3",
                "load-store-2",
                "load-store-3",
                "fetch-add-3",
                "semaphore-3",
                "store-buffering",
                "philosophers",
                "message-passing",
            ][..],
        ),
        (
            "primitives.c",
            &[
                "threads",
                "mutexes",
                "spins",
                "barriers",
                "onces",
                "keys",
                "semaphores",
                "condvars",
                "timed_condvars",
                "rwlocks",
                "clocks",
                "memory",
            ],
        ),
        (
            "cpp.cpp",
            &[
                "threads",
                "timed",
                "pointers",
                "shared_locks",
                "exceptions",
                "condvars",
                "statics",
                "locals",
            ],
        ),
        ("waiting.c", &["spin", "exchange", "trylock"]),
    ] {
        let programs = COMPILERS.map(|compiler| compile(compiler, source, "both", &[]));
        for name in names {
            let [gcc, clang] = programs.each_ref().map(|program| classes(program, name));
            assert_eq!(gcc, clang, "{source} {name}");
        }
    }
    // Loops in the library have other instructions.
    for compiler in COMPILERS {
        let program = compile(compiler, "cpp20.cpp", "both", &[]);
        for name in ["waiting", "semaphores", "latches", "barriers"] {
            assert!(classes(&program, name) > 1, "{compiler} {name}");
        }
    }
}

#[test]
fn clang_finds_the_same_bugs() {
    let wrong = compile("clang", "bugs.c", "clang-wrong", &[]);
    let right = compile("clang", "bugs.c", "clang-right", &["-DRIGHT"]);
    for (name, kind) in [
        ("check-then-act", "panic"),
        ("lost-wakeup", "deadlock"),
        ("if-not-while", "panic"),
        ("transfers", "deadlock"),
        ("double-check", "data race"),
        ("flags", "panic"),
        ("two-locks", "data race"),
    ] {
        run(&wrong, &[name], &[EXHAUSTIVE])
            .exits(1)
            .says(&format!("raddle: test: {kind} after "));
        assert!(classes(&right, name) > 0);
    }
    // A value that is read and then written is read, too; and a loop is not done all at once.
    let program = compile("clang", "race.c", "clang-race", &["-O2"]);
    run(&program, &[], &[])
        .exits(1)
        .says("main.1 writes memory `balance` at tests/native/race.c:8\n");
}

#[test]
fn accesses_in_loops_are_seen_one_by_one() {
    for compiler in COMPILERS {
        let program = compile(compiler, "loops.c", "loops", &["-O3"]);
        run(&program, &[], &[])
            .exits(1)
            .says("data race after 1 execution")
            .says("at tests/native/loops.c:");
    }
}

#[test]
fn wide_atomics_are_operations() {
    for compiler in COMPILERS {
        let program = compile(compiler, "wide.c", "wide", &["-latomic", "-w"]);
        assert_eq!(classes(&program, "alone"), 1);
        assert_eq!(classes(&program, "exchange"), 2);
        // One after the other, or one comes between the load and the exchange of the other.
        assert_eq!(classes(&program, "compare-exchange"), 4);
        assert_eq!(classes(&program, "fetch-add"), 4);
        run(&program, &["load-and-store"], &[EXHAUSTIVE])
            .exits(1)
            .says("panic after ")
            .says("load value = 0");
        // The processor's own instructions for it.
        let program = compile(
            compiler,
            "wide.c",
            "wide-inline",
            &["-mcx16", "-latomic", "-w"],
        );
        assert_eq!(classes(&program, "compare-exchange"), 4);
        assert_eq!(classes(&program, "alone"), 1);
    }
}

#[test]
fn openmp_is_controlled() {
    for compiler in COMPILERS {
        let right = compile(compiler, "openmp.c", "openmp-right", &["-fopenmp", "-Wall"]);
        for (name, classes) in [
            // Either thread comes first to what only one can do at a time.
            ("reduction", 2),
            ("critical", 2),
            ("atomic", 2),
            // No thread sees anything of the other but what the barrier lets it see.
            ("barrier", 1),
            ("chunks", 1),
            // Three parts of a loop, each of either thread; then either finds first that none is left.
            ("dynamic", 16),
            // The same with four parts.
            ("ordered", 32),
            // Three times either thread is first.
            ("single", 8),
            // Either thread makes the tasks.
            ("tasks", 2),
            ("groups", 2),
            // Two locks, each taken by either first.
            ("locks", 4),
            // Four threads in any order.
            ("teams", 24),
        ] {
            assert_eq!(self::classes(&right, name), classes, "{compiler} {name}");
        }
        assert!(self::classes(&right, "order") > 1);
        let wrong = compile(
            compiler,
            "openmp.c",
            "openmp-wrong",
            &["-fopenmp", "-DWRONG"],
        );
        for (name, kind) in [
            ("reduction", "data race"),
            ("critical", "panic"),
            ("order", "deadlock"),
            ("tasks", "data race"),
            ("groups", "data race"),
        ] {
            let found = run(&wrong, &[name], &[EXHAUSTIVE]);
            found.exits(1).says(&format!("raddle: test: {kind} after "));
            let replayed = run(&wrong, &[name], &[("RADDLE_REPLAY", found.schedule())]);
            replayed
                .exits(1)
                .says(&format!("raddle: test: {kind} after 1 execution (replay)"));
        }
        run(&wrong, &["order"], &[EXHAUSTIVE])
            .says("holds critical section `.gomp_critical_user_first");
        run(&right, &["depend"], &[])
            .exits(1)
            .says(" not controlled by raddle\n");
        // Without a check, the library of the compiler runs it.
        let finished = run(&right, &["dynamic", "unchecked"], &[]);
        assert_eq!((finished.code, finished.text.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_team_has_as_many_threads_as_the_user_says() {
    let program = compile("gcc", "openmp.c", "openmp-threads", &["-fopenmp"]);
    // n! orders.
    for (threads, classes) in [("1", 1), ("3", 6), ("4", 24)] {
        let finished = run(
            &program,
            &["atomic"],
            &[EXHAUSTIVE, ("OMP_NUM_THREADS", threads)],
        );
        assert_eq!(finished.exits(0).all_classes(), classes);
    }
}

/// The names of functions that a library has for others.
fn exported(library: &Path) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').nth(2));
    names
        .map(|name| name.split('@').next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_function_of_thread_sanitizer_is_there_or_said_not_to_be() {
    let output = Command::new("gcc")
        .arg("-print-file-name=libtsan.so")
        .output()
        .unwrap();
    let theirs = exported(Path::new(String::from_utf8(output.stdout).unwrap().trim()));
    let ours = exported(&support::LIBRARY);
    let page = std::fs::read_to_string(support::workspace().join("docs/src/native.md")).unwrap();
    let is_told = |name: &str| {
        let mut missing = page.split('`').filter(|word| word.starts_with("__tsan_"));
        missing.any(|word| match word.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == word,
        })
    };
    let wanted: Vec<_> = theirs
        .iter()
        .filter(|name| {
            ["__tsan_", "Annotate", "WTFAnnotate"]
                .iter()
                .any(|it| name.starts_with(it))
        })
        .collect();
    assert!(wanted.len() > 150);
    for name in wanted {
        assert!(ours.contains(name) || is_told(name), "{name}");
    }
}
