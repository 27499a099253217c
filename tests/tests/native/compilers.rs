//! Programs of both compilers, with OpenMP and wide atomics, and what cannot be checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::{self, EXHAUSTIVE, compile, compilers, has_clang, run};

fn classes(program: &Path, name: &str) -> u64 {
    run(program, &[name], &[EXHAUSTIVE]).exits(0).all_classes()
}

/// Accesses of `unused.c` that an optimising compiler leaves out.
const UNUSED: [&str; 6] = [
    "unused",
    "compared",
    "own_value",
    "copied",
    "summed",
    "passed",
];

#[test]
fn races_of_unused_loads_are_found_without_a_flag() {
    for compiler in compilers() {
        let program = compile(compiler, "unused.c", "unused", &[]);
        for name in UNUSED {
            let finished = run(&program, &[name], &[EXHAUSTIVE]);
            finished.exits(1).says("data race after ");
        }
    }
}

#[test]
fn a_level_that_the_user_gives_is_used_as_it_is() {
    for compiler in compilers() {
        for level in ["-O1", "-O2"] {
            let program = compile(compiler, "unused.c", &format!("unused{level}"), &[level]);
            // The access is not in the program.
            for name in ["unused", "compared", "own_value", "summed"] {
                run(&program, &[name], &[EXHAUSTIVE]).exits(0);
            }
        }
    }
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
        // A loop that waits is known by its stack, where unoptimised code keeps what the last round has left.
        let flags: &[&str] = if source == "waiting.c" { &["-O1"] } else { &[] };
        let compiled = |compiler: &&str| compile(compiler, source, "both", flags);
        let programs: Vec<_> = compilers().iter().map(compiled).collect();
        for name in names {
            let found: BTreeSet<_> = programs.iter().map(|it| classes(it, name)).collect();
            assert_eq!(found.len(), 1, "{source} {name}: {found:?}");
        }
    }
    // So there may be a round or two more before the stack is the same again.
    for compiler in compilers() {
        let program = compile(compiler, "waiting.c", "both-by-default", &[]);
        for (name, most) in [("spin", 3), ("exchange", 2), ("trylock", 3)] {
            let found = classes(&program, name);
            assert!((1..=most).contains(&found), "{compiler} {name}: {found}");
        }
    }
    // Loops in the library have other instructions.
    for compiler in compilers() {
        let program = compile(compiler, "cpp20.cpp", "both", &[]);
        for name in ["waiting", "semaphores", "latches", "barriers"] {
            assert!(classes(&program, name) > 1, "{compiler} {name}");
        }
    }
}

#[test]
fn clang_finds_the_same_bugs() {
    if !has_clang() {
        return;
    }
    let wrong = compile("clang", "bugs.c", "clang-wrong", &[]);
    let right = compile("clang", "bugs.c", "clang-right", &["-DRIGHT"]);
    for (name, kind) in [
        ("check-then-act", "failed assertion"),
        ("lost-wakeup", "deadlock"),
        ("if-not-while", "failed assertion"),
        ("transfers", "deadlock"),
        ("double-check", "data race"),
        ("flags", "failed assertion"),
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
    for compiler in compilers() {
        let program = compile(compiler, "loops.c", "loops", &["-O3"]);
        run(&program, &[], &[])
            .exits(1)
            .says("data race after 1 execution")
            .says("at tests/native/loops.c:");
    }
}

#[test]
fn wide_atomics_are_operations() {
    for compiler in compilers() {
        let program = compile(compiler, "wide.c", "wide", &["-latomic", "-w"]);
        assert_eq!(classes(&program, "alone"), 1);
        assert_eq!(classes(&program, "exchange"), 2);
        // One after the other, or one comes between the load and the exchange of the other.
        assert_eq!(classes(&program, "compare-exchange"), 4);
        assert_eq!(classes(&program, "fetch-add"), 4);
        run(&program, &["load-and-store"], &[EXHAUSTIVE])
            .exits(1)
            .says("failed assertion after ")
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
    for compiler in compilers() {
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
            ("critical", "failed assertion"),
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
        run(&wrong, &["order"], &[EXHAUSTIVE]).says("holds critical section `first` (since");
        run(&right, &["depend"], &[])
            .exits(1)
            .says(" not controlled by raddle\n");
        // Without a check, the library of the compiler runs it.
        let finished = run(&right, &["dynamic", "unchecked"], &[]);
        assert_eq!((finished.code, finished.text.as_str()), (Some(0), ""));
    }
}

#[test]
fn openmp_and_system_calls_are_the_same_wherever_threads_run() {
    let program = compile("gcc", "openmp.c", "openmp-modes", &["-fopenmp"]);
    let inline = compile("gcc", "inline.c", "inline-modes", &[]);
    let once = classes(&inline, "locked");
    for mode in [("RADDLE_SUBSTRATE", "os"), ("RADDLE_RESTART", "fork")] {
        for (name, classes) in [
            ("dynamic", 16),
            ("ordered", 32),
            ("groups", 2),
            ("locks", 4),
        ] {
            let finished = run(&program, &[name], &[EXHAUSTIVE, mode]);
            assert_eq!(finished.exits(0).all_classes(), classes, "{mode:?} {name}");
        }
        let finished = run(&inline, &["locked"], &[EXHAUSTIVE, mode]);
        assert_eq!(finished.exits(0).all_classes(), once, "{mode:?}");
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

#[test]
fn system_calls_that_code_makes_itself_are_seen() {
    let inline = compile("gcc", "inline.c", "inline", &[]);
    let by_name = compile("gcc", "inline.c", "by-name", &["-DBY_NAME"]);
    assert_eq!(classes(&inline, "locked"), classes(&by_name, "locked"));
    let strategy = ("RADDLE_STRATEGY", "enumerate");
    let every = run(&inline, &["locked"], &[strategy]);
    assert_eq!(every.exits(0).all_classes(), classes(&inline, "locked"));
    run(&inline, &["forgotten"], &[EXHAUSTIVE])
        .exits(1)
        .says("deadlock after ")
        .says("main.1 waits at tests/native/inline.c:22 for futex `lock");
    run(&inline, &["others"], &[]).exits(0);
    // The wake-up orders what was written before it with the comparison of a later wait.
    let weak = ("RADDLE_MEMORY", "rc11");
    for program in [&inline, &by_name] {
        run(program, &["relaxed"], &[EXHAUSTIVE, weak])
            .exits(0)
            .says("every behaviour was run");
    }
}

#[test]
fn threads_that_nobody_controls_are_told() {
    let program = compile("gcc", "inline.c", "uncontrolled", &[]);
    for (name, line) in [("clone", 93), ("clone3", 22)] {
        run(&program, &[name], &[])
            .exits(1)
            .says("not controlled after 1 execution")
            .says(&format!(" at tests/native/inline.c:{line}:"))
            .says("the program starts a thread by clone\n");
    }
    let beside = run(&program, &["others", "early"], &[EXHAUSTIVE]);
    beside
        .exits(0)
        .says("raddle: a thread was started before the check and cannot be controlled: `early`\n");
    beside.says("not every behaviour was run: ");
    beside.says("; the order of threads that were started before the check is not explored (");
    assert!(
        !run(&program, &["others"], &[])
            .text
            .contains("cannot be controlled")
    );
}

#[test]
fn what_hangs_is_told_with_its_place() {
    let program = compile("gcc", "bad.c", "hangs", &[]);
    let soon = ("RADDLE_WATCHDOG", "1s");
    for (name, lines) in [("hang", 51..=53), ("raw-block", 120..=120)] {
        let finished = run(&program, &[name], &[soon]);
        finished
            .exits(2)
            .says("main.1 has not come to a scheduling point for 1s");
        let line = finished.text.split("it is at tests/native/bad.c:").nth(1);
        let line = line.and_then(|rest| rest.split(' ').next()?.parse().ok());
        assert!(
            line.is_some_and(|line| lines.contains(&line)),
            "{}",
            finished.text
        );
    }
}

#[test]
fn what_eats_memory_is_told() {
    let program = compile("gcc", "bad.c", "eats", &[]);
    run(&program, &["eat"], &[])
        .exits(1)
        .says("main crashed at tests/native/bad.c:86:")
        .says("the program has more than 1024 MiB from malloc\n")
        .says("help: RADDLE_HEAP raises the limit\n");
    run(&program, &["eat"], &[("RADDLE_HEAP", "64M")])
        .exits(1)
        .says("more than 64 MiB from malloc");
    run(&program, &["use-and-free"], &[("RADDLE_HEAP", "much")])
        .exits(2)
        .says("raddle: RADDLE_HEAP: `much` is not a size such as 64M or 2G, of at most 4G");
}

#[test]
fn what_cannot_be_checked_is_said_before_it_runs() {
    let folder = support::folder("refused");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let build = |name: &str, flags: &[&str]| {
        support::gcc(&[&["tests/native/program.c", "-o", &path(name)], flags].concat());
        path(name)
    };
    let refused = |program: &str, text: &str| {
        support::command(&["run", "--", program])
            .exits(2)
            .says(text);
    };
    refused(&build("plain", &[]), "is not instrumented");
    refused(&build("alone", &["-static"]), "is linked statically");
    refused(
        &build("alone-anywhere", &["-static-pie"]),
        "is linked statically",
    );
    refused("tests/native/program.c", "is not a program for Linux");
    refused("./there-is-no-such-program", "cannot run");
    refused("tests", "cannot run");
    // A script, however it is named.
    std::fs::write(path("script"), "#!/bin/sh\nexec ./program\n").unwrap();
    refused(&path("script"), "is a script");
    // As much of a program of 32 bits as is looked at.
    std::fs::write(
        path("narrow"),
        b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0",
    )
    .unwrap();
    refused(&path("narrow"), "is a 32-bit program");
    if !has_clang() {
        return;
    }
    // clang links the whole runtime.
    let finished = Command::new("clang")
        .args([
            "-fsanitize=thread",
            "tests/native/program.c",
            "-o",
            &path("whole"),
        ])
        .current_dir(support::workspace())
        .status();
    assert!(finished.unwrap().success());
    refused(&path("whole"), "contains ThreadSanitizer's own runtime");
}

#[test]
fn a_program_with_the_rights_of_another_is_not_checked() {
    // Only root can make one.
    let program = compile("gcc", "program.c", "rights", &[]);
    let owned = std::os::unix::fs::chown(&program, Some(65534), None);
    if owned.is_err() {
        return;
    }
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&program, rights).unwrap();
    support::command(&["run", "--", program.to_str().unwrap()])
        .exits(2)
        .says("runs as another user or group");
}

#[test]
fn a_stripped_program_is_checked_without_lines() {
    let program = compile("gcc", "program.c", "stripped", &["-s"]);
    let program = program.to_str().unwrap();
    support::command(&["run", "--strategy", "exhaustive", "--", program, "strict"])
        .exits(1)
        .says("has no debug information")
        .says("the program ended with status 3\n");
}

#[test]
fn a_program_that_clang_has_built_for_thread_sanitizer_may_need_no_other_build() {
    if !has_clang() {
        return;
    }
    let program = support::folder("shared").join("program");
    let program = program.to_str().unwrap();
    let flags = [
        "-g",
        "-fsanitize=thread",
        "-shared-libsan",
        "tests/native/program.c",
        "-o",
        program,
    ];
    let built = Command::new("clang")
        .args(flags)
        .current_dir(support::workspace())
        .status();
    assert!(built.unwrap().success());
    support::command(&["run", "--strategy", "exhaustive", "--", program, "strict"])
        .exits(1)
        .says("the program ended with status 3\n");
}

/// What processes run this program.
fn processes(program: &Path) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = all.filter(|process| {
        std::fs::read_link(process.path().join("exe")).is_ok_and(|file| file == program)
    });
    ours.map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn nothing_is_left_when_the_command_is_killed() {
    let program = compile("gcc", "endless.c", "killed", &[]);
    let mut command = Command::new(support::LIBRARY.with_file_name("cargo-raddle"));
    command
        .args(["raddle", "run", "--strategy", "random", "--"])
        .arg(&program);
    command
        .env("RADDLE_MAX_EXECUTIONS", "1000000000")
        .env("RADDLE_MAX_TIME", "1h");
    let mut running = command.spawn().unwrap();
    while processes(&program).is_empty() {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    // The kernel does it, in its own time.
    while !processes(&program).is_empty() {
        std::thread::yield_now();
    }
}

/// Runs make in a folder, with this `cargo raddle`.
fn make(folder: &Path, command: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let raddle = format!("{} raddle", command.display());
    let mut make = Command::new("make");
    make.arg(format!("CC={raddle} cc"))
        .arg(format!("RADDLE={raddle}"));
    make.args(arguments)
        .current_dir(folder)
        .env_remove("MAKEFLAGS");
    let output = make.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn the_example_has_a_bug_and_its_fix_has_none() {
    let folder = support::folder("example");
    for file in ["Makefile", "queue.c", "queue.h", "sum.c", "test.c"] {
        let from = support::workspace().join("examples/native").join(file);
        std::fs::copy(from, folder.join(file)).unwrap();
    }
    let command = support::LIBRARY.with_file_name("cargo-raddle");
    make(&folder, &command, &["clean"]);
    let (code, text) = make(&folder, &command, &["check"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("raddle: sum: failed assertion after "),
        "{text}"
    );
    assert!(
        text.contains(" failed an assertion at queue.c:37:"),
        "{text}"
    );
    assert!(text.contains(" cargo raddle run -- ./sum\n"), "{text}");
    make(&folder, &command, &["clean"]);
    let (code, text) = make(&folder, &command, &["FLAGS=-DFIXED", "check"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("raddle: sum: every behaviour was run: "),
        "{text}"
    );
    assert!(
        text.contains("raddle: comes_out_in_order: every behaviour was run: "),
        "{text}"
    );
}

#[test]
fn a_command_that_was_installed_alone_is_completed_by_one_command() {
    let folder = support::folder("installed");
    let command = folder.join("cargo-raddle");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(support::LIBRARY.with_file_name("cargo-raddle"), &command).unwrap();
    let program = folder.join("program").to_str().unwrap().to_owned();
    let compile = ["raddle", "cc", "tests/native/program.c", "-o", &program];
    run(&command, &compile, &[]).exits(2).says(
        "libraddle_native.so does not exist\n  help: run `cargo raddle setup` once to build it",
    );
    // A cargo that has built it before.
    let cargo = folder.join("cargo");
    let message = format!(
        r#"{{"reason":"compiler-artifact","filenames":["{}"]}}"#,
        support::LIBRARY.display()
    );
    let script = format!("#!/bin/sh\ntest \"$1 $2\" = 'build --release' && echo '{message}'\n");
    std::fs::write(&cargo, script).unwrap();
    let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&cargo, anybody).unwrap();
    let cargo = ("CARGO", cargo.to_str().unwrap());
    run(&command, &["raddle", "setup"], &[cargo])
        .exits(0)
        .says("libraddle_native.so\n  note: used by ");
    run(&command, &compile, &[]).exits(0);
    run(&command, &["raddle", "run", "--", &program, "strict"], &[])
        .exits(1)
        .says("the program ended with status 3\n");
    // And one that cannot build it.
    run(&command, &["raddle", "setup"], &[("CARGO", "false")])
        .exits(2)
        .says("the native library does not compile: ");
}
