//! Locks of Rust's standard library under control: the programs of `tests/native/rust/`, which are also run
//! with raddle's own types.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::support::{EXHAUSTIVE, Finished, preloaded, run, rust};
use raddle::{Checker, FailureKind, Memory, Strategy};

/// The same programs with raddle's types.
pub mod library {
    use raddle::sync::{
        Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard,
    };
    use raddle::thread;

    include!("../../native/rust/bodies.rs");
}

/// Both ways to compile: nothing inlined, and whatever can be.
static PROGRAMS: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    ["0", "2"].map(|level| {
        let folder = format!("rust-std-{level}");
        rust("sync.rs", &folder, &[&format!("-Copt-level={level}")])
    })
});

fn check(program: &std::path::Path, name: &str) -> Finished {
    run(program, &[name], &[EXHAUSTIVE, preloaded()])
}

pub fn in_the_library(body: fn()) -> raddle::Report {
    let checker = Checker::new()
        .memory(Memory::Sc)
        .strategy(Strategy::Exhaustive);
    checker.run(body)
}

#[test]
fn std_has_the_classes_of_the_library() {
    for &(name, body) in library::CORRECT {
        let report = in_the_library(body);
        report.assert_ok();
        assert!(report.exhausted);
        for program in &*PROGRAMS {
            let finished = check(program, name);
            // The end of a scope is known by a function, which must not be inlined for that.
            if name == "scope" && program == &PROGRAMS[1] {
                continue;
            }
            finished.exits(0);
            assert_eq!(
                finished.all_classes(),
                report.classes(),
                "{name}: {program:?}"
            );
        }
    }
}

/// What the steps of a story are, in any order: the columns of threads may differ.
fn steps(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter(|line| line.contains('│'));
    let steps = rows.flat_map(|row| {
        row.split('│')
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    steps.filter(|step| !step.trim().is_empty()).collect()
}

#[test]
fn std_gets_stuck_where_the_library_does() {
    for &(name, body) in library::STUCK {
        let report = in_the_library(body);
        let [failure] = &report.failures[..] else {
            panic!("{name}: {report:?}");
        };
        let waits = [FailureKind::Deadlock, FailureKind::LostWakeup];
        assert!(waits.contains(&failure.kind), "{name}: {failure}");
        for program in &*PROGRAMS {
            let finished = check(program, name);
            finished.exits(1).says(&format!("{} after", failure.kind));
            let (real, modelled) = (steps(&finished.text), steps(&failure.to_string()));
            assert_eq!(
                real.len(),
                modelled.len(),
                "{name}: {}\n{failure}",
                finished.text
            );
        }
    }
}

#[test]
fn std_is_the_same_wherever_threads_run_and_however_executions_begin() {
    let others = [("RADDLE_SUBSTRATE", "os"), ("RADDLE_RESTART", "fork")];
    for &(name, body) in library::CORRECT.iter().filter(|(name, _)| {
        ["mutex", "condvar", "rwlock", "once", "barrier", "park"].contains(name)
    }) {
        let classes = in_the_library(body).classes();
        for other in others {
            let finished = run(&PROGRAMS[0], &[name], &[EXHAUSTIVE, preloaded(), other]);
            assert_eq!(
                finished.exits(0).all_classes(),
                classes,
                "{name}: {other:?}"
            );
        }
    }
}

#[test]
fn without_debug_information_the_symbols_are_enough_unless_code_was_optimised() {
    let plain = rust("sync.rs", "rust-std-plain", &["-Cdebuginfo=0"]);
    for (name, classes) in [("mutex", 6), ("locks in order", 2), ("park", 2)] {
        assert_eq!(
            check(&plain, name).exits(0).all_classes(),
            classes,
            "{name}"
        );
    }
    let flags = ["-Copt-level=2", "-Cdebuginfo=0", "-Cstrip=debuginfo"];
    let optimised = rust("sync.rs", "rust-std-bare", &flags);
    check(&optimised, "park").says("was optimised and has no debug information");
}
