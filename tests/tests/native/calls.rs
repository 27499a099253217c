//! C and C++ programs that do more than start threads and lock mutexes: they cancel, fork, read and write,
//! send signals. The programs are in `tests/native/`.

use std::path::Path;

use crate::support::{self, ENUMERATE, EXHAUSTIVE, build, build_with, run};

/// How many classes there are; the search finds as many as there are among all schedules.
#[track_caller]
fn compared(program: &Path, name: &str) -> u64 {
    let [search, every] =
        [EXHAUSTIVE, ENUMERATE].map(|how| run(program, &[name], &[how]).exits(0).all_classes());
    assert_eq!(search, every, "{name}");
    search
}

/// How many classes there are, for a program with too many schedules to compare: as many if its threads are
/// OS threads.
#[track_caller]
fn searched(program: &Path, name: &str) -> u64 {
    let [here, there] = ["coroutine", "os"].map(|substrate| {
        let substrate = ("RADDLE_SUBSTRATE", substrate);
        run(program, &[name], &[EXHAUSTIVE, substrate])
            .exits(0)
            .all_classes()
    });
    assert_eq!(here, there, "{name}");
    here
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
        ("destructors", 1),
        // Two additions, in either order. The key is deleted in the first execution and needed in the second.
        ("early-keys", 2),
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
    for name in ["points", "disabled", "waits", "types"] {
        assert!(compared(&program, name) > 1, "{name}");
    }
    for name in ["passes-on", "permits", "joins"] {
        assert!(searched(&program, name) > 1, "{name}");
    }
    // A thread that is not controlled is not the one that ends.
    for substrate in ["coroutine", "os"] {
        let settings = [EXHAUSTIVE, ("RADDLE_SUBSTRATE", substrate)];
        run(&program, &["passes-on", "beside"], &settings).exits(0);
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
    assert!(searched(&program, "once-again") > 1);
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

#[test]
fn who_would_block_in_the_kernel_waits_and_others_run() {
    let program = build("pipes.c", "pipes");
    // The reader comes first and waits, or it does not.
    assert_eq!(compared(&program, "pipes"), 2);
    // It is there or not.
    assert_eq!(compared(&program, "nonblocking"), 2);
    // However often it looks.
    assert_eq!(compared(&program, "until"), 2);
    for name in ["closing", "sockets", "events"] {
        assert!(compared(&program, name) > 2, "{name}");
    }
    assert_eq!(
        compared(&program, "events-by-number"),
        compared(&program, "events")
    );
    assert!(searched(&program, "servers") > 2);
    let some = [
        ("RADDLE_STRATEGY", "random"),
        ("RADDLE_MAX_EXECUTIONS", "50"),
    ];
    run(&program, &["large"], &some).exits(0);
    run(&program, &["nothing"], &[EXHAUSTIVE]).exits(0);
}

#[test]
fn who_waits_for_what_nobody_writes_is_told() {
    let program = build("pipes.c", "unwritten");
    run(&program, &["nobody"], &[EXHAUSTIVE])
        .exits(1)
        .says("deadlock after ")
        .says("main.1 waits at tests/native/pipes.c:31 for data from descriptor ");
    run(&program, &["both"], &[EXHAUSTIVE])
        .exits(1)
        .says("main.1 waits at tests/native/pipes.c:233 for data from descriptor ")
        .says("main.2 waits at tests/native/pipes.c:241 for data from descriptor ");
    let found = run(&program, &["mixed"], &[EXHAUSTIVE]);
    found.exits(1).says("letter == ");
    run(&program, &["mixed"], &[("RADDLE_REPLAY", found.schedule())])
        .exits(1)
        .says("letter == ");
}

#[test]
fn several_descriptors_are_waited_for_at_once() {
    let program = build("polling.c", "polling");
    // The time is over first, or not.
    assert_eq!(compared(&program, "limits"), 2);
    let (polls, selects) = (searched(&program, "polls"), searched(&program, "selects"));
    assert_eq!(polls, selects);
    assert!(searched(&program, "epolls") > polls);
    run(&program, &["nobody"], &[EXHAUSTIVE])
        .exits(1)
        .says("main.1 waits at tests/native/polling.c:39 for any of several descriptors");
}

/// A timer that is set ends a wait, as in a real run; one that is not does not.
#[test]
fn a_wait_that_a_timer_ends_is_no_deadlock() {
    let program = build("timers.c", "timers");
    for name in ["polls", "selects", "epolls"] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), 1, "{name}");
        run(&program, &[&format!("never_{name}")], &[EXHAUSTIVE])
            .exits(1)
            .says("deadlock after ")
            .says("for any of several descriptors");
    }
}

#[test]
fn handlers_run_where_their_thread_is() {
    let program = build("signals.c", "signals");
    for name in ["raised", "queued", "broken"] {
        assert_eq!(compared(&program, name), 1, "{name}");
    }
    for name in ["sent", "paused"] {
        assert!(compared(&program, name) > 1, "{name}");
    }
    for name in ["interrupted", "restarted", "waited", "suspended", "alarmed"] {
        assert!(searched(&program, name) > 1, "{name}");
    }
}

#[test]
fn what_signals_do_wrong_is_found() {
    let program = build("signals.c", "interrupted");
    let found = run(&program, &["locked"], &[EXHAUSTIVE]);
    found
        .exits(1)
        .says("deadlock after ")
        .says("tests/native/signals.c:215 for mutex `mutex`, which it holds itself");
    run(
        &program,
        &["locked"],
        &[("RADDLE_REPLAY", found.schedule())],
    )
    .exits(1)
    .says("deadlock after 1 execution (replay)");
    run(&program, &["ended"], &[EXHAUSTIVE])
        .exits(1)
        .says("the program was ended by SIGTERM");
}

#[test]
fn other_processes_are_left_alone() {
    let program = build("processes.c", "processes");
    // Two that add.
    assert_eq!(searched(&program, "forks"), 2);
    assert_eq!(searched(&program, "forks-aside"), 2);
    assert_eq!(searched(&program, "left"), 2);
    assert_eq!(searched(&program, "programs"), 1);
    for restart in ["snapshot", "fork"] {
        let settings = [EXHAUSTIVE, ("RADDLE_RESTART", restart)];
        run(&program, &["handlers"], &settings).exits(0);
        run(&program, &["blocks"], &settings).exits(0);
        for name in ["forks", "left"] {
            let finished = run(&program, &[name], &settings);
            assert_eq!(finished.exits(0).all_classes(), 2, "{name} {restart}");
        }
        assert_eq!(running(&program), 0, "{restart}");
    }
}

/// How many processes run a program.
fn running(program: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let programs = processes.filter_map(|process| process.path().join("exe").read_link().ok());
    programs.filter(|running| running == program).count()
}

#[test]
fn what_an_execution_opens_and_starts_is_gone_with_it() {
    let program = build("whole.c", "whole");
    let whole = ("RADDLE_NATIVE", "program");
    for restart in ["snapshot", "fork"] {
        let restart = ("RADDLE_RESTART", restart);
        // The reader waits or does not.
        let finished = run(&program, &[], &[EXHAUSTIVE, whole, restart]);
        assert_eq!(finished.exits(0).all_classes(), 2);
        let many = [
            ("RADDLE_STRATEGY", "random"),
            ("RADDLE_MAX_EXECUTIONS", "50"),
        ];
        run(&program, &[], &[many[0], many[1], whole, restart]).exits(0);
    }
}

/// Its result is no exit status, and what the other threads do then is part of the program.
#[test]
fn main_may_leave_before_its_threads() {
    let program = build("leaves.c", "leaves");
    let whole = ("RADDLE_NATIVE", "program");
    for restart in ["snapshot", "fork"] {
        let settings = [EXHAUSTIVE, whole, ("RADDLE_RESTART", restart)];
        // Two orders of two additions.
        let finished = run(&program, &["ends"], &settings);
        assert_eq!(finished.exits(0).all_classes(), 2, "{restart}");
        run(&program, &["fails"], &settings)
            .exits(1)
            .says("failed assertion after 1 execution");
        run(&program, &["hangs"], &settings)
            .exits(1)
            .says("main.1 waits at tests/native/leaves.c:17 for mutex `mutex`, held by main");
    }
}

#[test]
fn what_the_program_was_started_with_is_there_in_every_execution() {
    let program = build("inherited.c", "inherited");
    let whole = ("RADDLE_NATIVE", "program");
    for restart in ["snapshot", "fork"] {
        let settings = [EXHAUSTIVE, whole, ("RADDLE_RESTART", restart)];
        let finished = support::run_reading("tests/native/inherited.c", &program, &settings);
        // Two orders of two additions.
        assert_eq!(finished.exits(0).all_classes(), 2, "{restart}");
    }
}

#[test]
fn files_of_the_locale_are_mapped_once() {
    let program = build("locale.c", "locale");
    let settings = [
        ("LC_ALL", "C.UTF-8"),
        ("RADDLE_NATIVE", "program"),
        ("RADDLE_STRATEGY", "random"),
        ("RADDLE_MAX_EXECUTIONS", "5"),
        ("RADDLE_RESTART", "snapshot"),
    ];
    run(&program, &[], &settings).exits(0);
}

#[test]
fn clocks_agree_and_are_the_same_in_every_run() {
    let program = build("processes.c", "clocks");
    let drawn = [(); 2].map(|()| {
        let finished = run(&program, &["clocks"], &[EXHAUSTIVE]);
        let line = finished.exits(0).text.lines().next().map(str::to_owned);
        assert!(line.as_ref().is_some_and(|line| line.starts_with("drawn ")));
        line
    });
    assert_eq!(drawn[0], drawn[1]);
}

/// Elapsed time of 60 random programs with up to three threads, which look at the clock, work, sleep and wait.
#[test]
fn no_more_time_passes_than_is_slept_waited_and_allowed_for_looks() {
    let program = build("elapsed.c", "elapsed");
    let settings = [
        ("RADDLE_STRATEGY", "random"),
        ("RADDLE_MAX_EXECUTIONS", "10"),
    ];
    let finished = run(&program, &[], &settings);
    let checks = finished.exits(0).text.matches(" in 10 runs; ").count();
    assert_eq!(checks, 60);
}
