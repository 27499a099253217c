//! C and C++ programs on both substrates and with every way to begin an execution anew: what happens is
//! the same, event for event.

use std::path::Path;

use crate::support::{self, EXHAUSTIVE, Finished, build, build_with, run};

const OS: (&str, &str) = ("RADDLE_SUBSTRATE", "os");
const COROUTINE: (&str, &str) = ("RADDLE_SUBSTRATE", "coroutine");
/// With the same seed.
const RANDOM: [(&str, &str); 3] = [
    ("RADDLE_STRATEGY", "random"),
    ("RADDLE_SEED", "7"),
    ("RADDLE_MAX_EXECUTIONS", "25"),
];

/// Every program here whose values are the same wherever it is loaded, with flags for the compiler and what
/// it can be asked for.
const PROGRAMS: [(&str, &[&str], &[&str]); 21] = [
    (
        "primitives.c",
        &[],
        &[
            "threads",
            "mutexes",
            "condvars",
            "rwlocks",
            "timed_condvars",
            "spins",
            "barriers",
            "onces",
            "keys",
            "semaphores",
            "clocks",
            "ordered_clocks",
            "memory",
        ],
    ),
    (
        "posix.c",
        &[],
        &[
            "attributes",
            "exits",
            "joins",
            "limits",
            "lost",
            "protocols",
            "robusts",
        ],
    ),
    (
        "signals.c",
        &[],
        &["raised", "sent", "interrupted", "broken", "locked"],
    ),
    (
        "cancel.c",
        &[],
        &[
            "disabled",
            "joins",
            "passes-on",
            "permits",
            "points",
            "waits",
        ],
    ),
    (
        "pipes.c",
        &[],
        &[
            "closing",
            "events",
            "large",
            "mixed",
            "nobody",
            "nonblocking",
            "pipes",
            "servers",
            "sockets",
            "until",
        ],
    ),
    (
        "polling.c",
        &[],
        &["epolls", "limits", "nobody", "polls", "selects"],
    ),
    (
        "wide.c",
        &["-mcx16"],
        &[
            "compare-exchange",
            "exchange",
            "fetch-add",
            "load-and-store",
        ],
    ),
    (
        "openmp.c",
        &["-fopenmp"],
        &[
            "atomic",
            "barrier",
            "chunks",
            "critical",
            "dynamic",
            "locks",
            "order",
            "reduction",
            "single",
            "tasks",
            "teams",
        ],
    ),
    (
        "counts.c",
        &[],
        &[
            "load-store-3",
            "mutex-4",
            "semaphore-3",
            "message-passing",
            "philosophers",
        ],
    ),
    ("c11.c", &[], &[""]),
    ("bytes.c", &[], &[""]),
    ("lost_update.c", &[], &[""]),
    ("deadlock.c", &[], &[""]),
    ("race.c", &[], &[""]),
    (
        "waiting.c",
        &[],
        &["spin", "yield", "exchange", "trylock", "count"],
    ),
    ("inline.c", &[], &["forgotten", "locked"]),
    (
        "endings.c",
        &[],
        &["abort", "exit", "fpe", "freed", "overflow", "segv", "well"],
    ),
    (
        "bugs.c",
        &[],
        &[
            "check-then-act",
            "flags",
            "if-not-while",
            "lost-wakeup",
            "rendezvous",
            "transfers",
            "upgrade",
        ],
    ),
    (
        "cpp.cpp",
        &[],
        &[
            "threads",
            "condvars",
            "timed",
            "statics",
            "locals",
            "pointers",
            "shared_locks",
            "exceptions",
            "uncaught",
        ],
    ),
    (
        "cpp20.cpp",
        &[],
        &["waiting", "semaphores", "latches", "barriers"],
    ),
    ("leaving.cpp", &[], &["exits", "cancels", "swallowed"]),
];

/// Runs a program; how it ended and what it did.
#[track_caller]
fn traced(program: &Path, argument: &str, settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let file = program.with_extension(format!("{argument}.trace"));
    let _ = std::fs::remove_file(&file);
    let trace = ("RADDLE_TRACE", file.to_str().unwrap());
    let settings = [&RANDOM[..], settings, &[trace]].concat();
    let finished = run(program, &[argument], &settings);
    let text = std::fs::read_to_string(file).unwrap();
    // It begins with the first thread, and the instructions of the program have their places.
    let begin = "execution 1\n0.0 Begin ";
    assert!(text.starts_with(begin), "{text}{}", finished.text);
    assert!(text.contains(" at exe+0x"), "{text}");
    (finished.code, text)
}

#[test]
fn the_same_seed_does_the_same_on_both_substrates() {
    for (source, flags, arguments) in PROGRAMS {
        let program = build_with(source, &format!("substrates-{source}"), flags);
        for argument in arguments {
            let first = traced(&program, argument, &[COROUTINE]);
            for substrate in [COROUTINE, COROUTINE, OS, OS, OS] {
                let again = traced(&program, argument, &[substrate]);
                assert!(first == again, "{source} {argument} {substrate:?}");
            }
        }
    }
}

#[test]
fn os_threads_have_the_same_classes() {
    let program = build("counts.c", "os-counts");
    let all = |name: &str| {
        let finished = run(&program, &[name], &[EXHAUSTIVE, OS]);
        finished.exits(0).all_classes()
    };
    // Of n threads that take a lock or add to a counter, any order is possible: n!.
    assert_eq!(all("mutex-3"), 6);
    assert_eq!(all("fetch-add-3"), 6);
    // Both see the other's store, or one does.
    assert_eq!(all("store-buffering"), 3);
}

#[test]
fn os_threads_tell_what_programs_must_not_do() {
    let program = build("bad.c", "os-bad");
    run(&program, &["overflow"], &[OS])
        .exits(1)
        .says("it used more than the 8 MB of stack that it has");
    let soon = ("RADDLE_WATCHDOG", "1s");
    run(&program, &["hang"], &[OS, soon])
        .exits(2)
        .says("main.1 has not come to a scheduling point for 1s");
    run(&program, &["use-and-free"], &[OS])
        .exits(1)
        .says("use after free after 1 execution");
}

fn is_warned(finished: &Finished, reason: &str) {
    finished.says(&format!(
        "raddle: threads are run as OS threads, which is slower, because coroutines would not work here: \
         {reason}\n"
    ));
}

#[test]
fn where_coroutines_would_not_work_threads_are_os_threads() {
    let program = build("counts.c", "self-test");
    let fails = ("RADDLE_SELF_TEST", "fail");
    let finished = run(&program, &["mutex-3"], &[EXHAUSTIVE, fails]);
    is_warned(&finished, "RADDLE_SELF_TEST says so");
    assert_eq!(finished.exits(0).all_classes(), 6);
    // There is no warning if coroutines work, or if OS threads were asked for.
    for settings in [&[EXHAUSTIVE][..], &[EXHAUSTIVE, fails, OS]] {
        let finished = run(&program, &["mutex-3"], settings);
        assert!(!finished.text.contains("OS threads"), "{}", finished.text);
        assert_eq!(finished.exits(0).all_classes(), 6);
    }
    run(&program, &["mutex-3"], &[("RADDLE_SUBSTRATE", "fibers")])
        .exits(2)
        .says("raddle: RADDLE_SUBSTRATE: `fibers` is not one of: coroutine, os\n");
}

const FORK: (&str, &str) = ("RADDLE_RESTART", "fork");
const WORKERS: (&str, &str) = ("RADDLE_WORKERS", "2");
const LOOP: (&str, &str) = ("RADDLE_RESTART", "loop");

#[test]
fn processes_of_their_own_do_the_same() {
    for (source, flags, arguments) in PROGRAMS {
        let program = build_with(source, &format!("forked-{source}"), flags);
        for argument in arguments {
            let snapshot = traced(&program, argument, &[]);
            let forked = traced(&program, argument, &[FORK]);
            assert!(snapshot == forked, "{source} {argument}");
        }
    }
    let program = build("counts.c", "forked-os");
    let [snapshot, forked] = [&[][..], &[FORK, OS]].map(|it| traced(&program, "mutex-4", it));
    assert!(snapshot == forked);
}

#[test]
fn what_was_written_is_put_back() {
    let program = build("written.c", "written");
    // The orders of five threads, of which each writes pages that no other does.
    for settings in [&[EXHAUSTIVE][..], &[EXHAUSTIVE, WORKERS], &[EXHAUSTIVE, OS]] {
        let finished = run(&program, &[], settings);
        assert_eq!(finished.exits(0).all_classes(), 120, "{settings:?}");
    }
}

#[test]
fn processes_of_their_own_begin_with_what_the_kernel_had() {
    let program = build("kernel.c", "kernel");
    // Whose addition is first.
    for name in ["map", "open", "nothing"] {
        let finished = run(&program, &[name], &[EXHAUSTIVE, FORK]);
        assert_eq!(finished.exits(0).all_classes(), 2, "{name}");
    }
    let forks = build("processes.c", "forked-processes");
    for substrate in [COROUTINE, OS] {
        let finished = run(&forks, &["forks-aside"], &[EXHAUSTIVE, FORK, substrate]);
        assert_eq!(finished.exits(0).all_classes(), 2);
    }
    // Without them the page is still mapped in the second execution, and a warning says why.
    run(&program, &["map"], &[EXHAUSTIVE])
        .exits(1)
        .says("raddle: the program maps memory by itself, which is not undone")
        .says("nondeterminism after 2 executions");
    // A whole program without a `--restart` option is begun once more, with them.
    let whole = build("mapped.c", "mapped");
    let whole = whole.to_str().unwrap();
    let words = ["run", "--strategy", "exhaustive"];
    let finished = support::command(&[&words[..], &["--", whole, "twice"]].concat());
    finished
        .exits(0)
        .says("maps memory by itself, so every execution is run in a process of its own");
    assert_eq!(finished.all_classes(), 2);
    let asked = ["--restart", "snapshot", "--", whole, "twice"];
    support::command(&[&words[..], &asked].concat())
        .exits(1)
        .says("which is not undone when an execution begins anew");
}

#[test]
fn the_end_of_a_process_is_told_with_its_schedule() {
    let program = build("kernel.c", "ended");
    for (name, how) in [
        ("kill", "was ended by signal 9"),
        ("leave", "ended with status 3"),
    ] {
        let lost = run(&program, &[name], &[EXHAUSTIVE, FORK]);
        lost.exits(1)
            .says(&format!("main crashed:\n  its process {how}, after "))
            .says("fetch-add counter: 1 to 2");
        let replay = ("RADDLE_REPLAY", lost.schedule());
        run(&program, &[name], &[replay, FORK])
            .exits(1)
            .says(&format!("its process {how}, after 0 executions"));
    }
    let program = build("bad.c", "forked-bad");
    run(&program, &["overflow"], &[FORK])
        .exits(1)
        .says("it used more than the 8 MB of stack that it has");
    run(&program, &["hang"], &[FORK, ("RADDLE_WATCHDOG", "1s")])
        .exits(2)
        .says("main.1 has not come to a scheduling point for 1s");
}

#[test]
fn what_cleans_up_after_itself_needs_nothing_to_be_put_back() {
    let program = build("tidy.c", "tidy");
    let all = |settings: &[(&str, &str)]| run(&program, &[], settings).exits(0).all_classes();
    // Either load comes before or after the other's store: both first, or one after the other.
    let classes = all(&[EXHAUSTIVE]);
    assert_eq!(classes, all(&[("RADDLE_STRATEGY", "enumerate"), LOOP]));
    assert_eq!(classes, all(&[EXHAUSTIVE, LOOP]));
    assert_eq!(classes, all(&[EXHAUSTIVE, LOOP, OS]));
    assert_eq!(classes, all(&[EXHAUSTIVE, FORK]));
    // What is left behind is found by the next execution.
    run(&program, &["remember"], &[EXHAUSTIVE]).exits(0);
    run(&program, &["remember"], &[EXHAUSTIVE, LOOP])
        .exits(1)
        .says("nondeterminism after 2 executions");
    run(&program, &[], &[("RADDLE_RESTART", "exec")])
        .exits(2)
        .says("raddle: RADDLE_RESTART: `exec` is not one of: snapshot, fork, loop\n");
}
