//! C and C++ programs that do more than start threads and lock mutexes: they cancel, fork, read and write,
//! send signals. The programs are in `tests/native/`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

#[allow(dead_code, reason = "others use the rest")]
#[path = "../native/support.rs"]
mod support;

use std::path::Path;

use support::{build, build_with, run};

const EXHAUSTIVE: (&str, &str) = ("RADDLE_STRATEGY", "exhaustive");
const ENUMERATE: (&str, &str) = ("RADDLE_STRATEGY", "enumerate");

/// How many classes there are; the search finds as many as there are among all schedules.
#[track_caller]
fn compared(program: &Path, name: &str) -> u64 {
    let [search, every] =
        [EXHAUSTIVE, ENUMERATE].map(|how| run(program, &[name], &[how]).exits(0).all_classes());
    assert_eq!(search, every, "{name}");
    search
}

/// How many classes there are, for a program with too many schedules to compare.
#[track_caller]
fn searched(program: &Path, name: &str) -> u64 {
    run(program, &[name], &[EXHAUSTIVE]).exits(0).all_classes()
}

#[test]
fn the_rarer_parts_of_posix_do_what_it_says() {
    let program = build("posix.c", "posix");
    for (name, classes) in [
        ("exits", 1),
        ("lost", 1),
        // Woken up spuriously or not.
        ("limits", 2),
        // It has ended when first asked, or in time, or later.
        ("joins", 3),
        ("attributes", 1),
        ("protocols", 1),
    ] {
        assert_eq!(compared(&program, name), classes, "{name}");
    }
    // Three that take a lock, in any order.
    assert_eq!(searched(&program, "robusts"), 6);
    run(&program, &["keys"], &[EXHAUSTIVE]).exits(0);
}

#[test]
fn threads_are_cancelled_where_they_may_be() {
    let program = build("cancel.c", "cancel");
    for name in ["points", "disabled", "waits"] {
        assert!(compared(&program, name) > 1, "{name}");
    }
    for name in ["passes-on", "permits", "joins"] {
        assert!(searched(&program, name) > 1, "{name}");
    }
    let forgetful = build_with("cancel.c", "forgetful", &["-DBUG"]);
    run(&forgetful, &["waits"], &[EXHAUSTIVE])
        .exits(1)
        .says("main waits at tests/native/cancel.c:100 for mutex `mutex`, held by main.1");
}

#[test]
fn threads_that_leave_run_destructors() {
    let program = build("leaving.cpp", "leaving");
    assert!(searched(&program, "exits") >= 1);
    assert!(searched(&program, "cancels") > 1);
    run(&program, &["swallowed"], &[])
        .exits(1)
        .says("a thread that was to end caught that as an exception, and went on");
}

#[test]
fn random_numbers_are_the_same_in_every_execution() {
    let program = build("leaving.cpp", "random");
    let numbers = [(); 2].map(|()| {
        let finished = run(&program, &["random"], &[("RADDLE_STRATEGY", "random")]);
        let lines = finished.exits(0).text.lines().map(str::to_owned);
        let drawn: Vec<_> = lines.filter(|line| line.starts_with("drawn ")).collect();
        assert!(drawn.len() > 1 && drawn.iter().all(|line| *line == drawn[0]));
        drawn[0].clone()
    });
    assert_eq!(numbers[0], numbers[1]);
}
