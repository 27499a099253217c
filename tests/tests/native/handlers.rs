//! Functions and destructors that run when the program ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Finished, command_with, compile, compilers, folder, gcc, workspace};

/// The line of a source with this comment.
fn line(source: &str, comment: &str) -> String {
    let path = format!("tests/native/{source}");
    let text = std::fs::read_to_string(workspace().join(&path)).unwrap();
    let is_there = |line: &str| {
        [format!("/* {comment} */"), format!("// {comment}")]
            .iter()
            .any(|it| line.contains(it))
    };
    let found = text.lines().position(is_there);
    format!(
        "{path}:{}",
        found.unwrap_or_else(|| panic!("no {comment}")) + 1
    )
}

/// Checks the whole program with this argument.
fn check(program: &Path, test: &str) -> Finished {
    check_with(program, &[test])
}

fn check_with(program: &Path, arguments: &[&str]) -> Finished {
    let folder = program.with_file_name("raddle");
    let settings = [("RADDLE_DIR", folder.to_str().unwrap())];
    let words = ["run", "--strategy", "exhaustive", "--"];
    let program = program.to_str().unwrap();
    command_with(&[&words[..], &[program], arguments].concat(), &settings)
}

#[test]
fn handlers_are_part_of_every_execution() {
    let program = compile("gcc", "handlers.c", "handlers", &["-O1"]);
    for test in ["in-order", "at-once", "joined", "waits", "sleeps"] {
        check(&program, test).exits(0);
    }
    for (test, failure, comment) in [
        ("out-of-order", "failed assertion", "second"),
        ("later", "failed assertion", "second"),
        ("takes-status", "failed assertion", "with-status"),
        ("by-exit", "failed assertion", "second"),
        ("by-thread", "failed assertion", "second"),
        ("quickly", "failed assertion", "second"),
        ("twice", "failed assertion", "second"),
        ("crashes", "crash", "aborts"),
        ("detached", "use after free", "frees"),
        ("detached", "use after free", "adds"),
        ("races", "data race", "writes"),
        ("explored", "failed assertion", "looks"),
    ] {
        let found = check(&program, test);
        found.exits(1).says(&format!(": {failure} after "));
        found.says(&line("handlers.c", comment));
    }
}

/// Main's two reads come before, between or after the write of a handler. Two handlers of one source write in order:
/// the reads are two of 0, 1 and 2 that do not fall, of which there are six.
#[test]
fn interrupts_come_at_any_point() {
    for compiler in compilers() {
        let program = compile(compiler, "interrupts.c", "interrupts", &["-O1"]);
        for (test, classes) in [("anytime", 3), ("in-order", 6), ("locked", 2)] {
            let run = format!("every behaviour was run: {classes} classes");
            check(&program, test).exits(0).says(&run);
        }
        for (test, failure) in [
            ("lost", "failed assertion"),
            ("unordered", "failed assertion"),
            ("writes", "data race"),
        ] {
            let name = if test == "writes" { "races" } else { test };
            let found = check(&program, name);
            found.exits(1).says(&format!(": {failure} after "));
            found.says(&line("interrupts.c", test));
        }
    }
}

/// Outside of a check they are threads.
#[test]
fn interrupts_outside_of_a_check_are_threads() {
    let path = folder("interrupts-outside").join("interrupts");
    let flags = [
        "-Icrates/native/include",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
    ];
    let files = ["tests/native/interrupts.c", "-o", path.to_str().unwrap()];
    gcc(&[&flags[..], &files].concat());
    for test in ["anytime", "in-order", "locked"] {
        assert!(
            Command::new(&path).arg(test).status().unwrap().success(),
            "{test}"
        );
    }
}

#[test]
fn objects_of_a_library_are_destroyed_when_it_is_unloaded() {
    let flags = ["-O1", "-shared", "-fPIC"];
    let library = compile("gcc", "plugin.cpp", "plugin", &flags);
    let program = compile("gcc", "loads.c", "loads", &["-O1"]);
    let library = library.to_str().unwrap();
    check_with(&program, &[library, "0"]).exits(0);
    check_with(&program, &[library, "1"])
        .exits(1)
        .says(": failed assertion after 1 execution")
        .says(&line("plugin.cpp", "unloaded"));
}

#[test]
fn static_objects_are_destroyed_in_every_execution() {
    let program = compile("gcc", "statics.cpp", "statics", &["-O1"]);
    for test in ["none", "joined"] {
        check(&program, test).exits(0);
    }
    for (test, failure, comment) in [
        ("early", "failed assertion", "early"),
        ("local", "failed assertion", "local"),
        ("thread-local", "failed assertion", "thread-local"),
        ("detached", "", "deletes"),
        ("detached", "", "detached"),
        ("early-detached", "", "early-detached"),
        ("joinable", "crash", ""),
    ] {
        let found = check(&program, test);
        found.exits(1).says(&format!("{failure} after "));
        if !comment.is_empty() {
            found.says(&line("statics.cpp", comment));
        }
    }
}

/// Compiles the program with destructors and the two libraries that it needs.
fn with_destructors(compiler: &str, test: &str) -> PathBuf {
    let test = format!("{test}-{compiler}");
    let library = ["-O1", "-shared", "-fPIC"];
    let first = compile(compiler, "destructors_first.c", &test, &library);
    let first = first.to_str().unwrap();
    let flags = [&library[..], &[first]].concat();
    let second = compile(compiler, "destructors_second.c", &test, &flags);
    let libraries = ["-O1", "-Wl,--no-as-needed", first, second.to_str().unwrap()];
    compile(compiler, "destructors.c", &test, &libraries)
}

#[test]
fn destructors_run_after_the_handlers_in_the_order_of_the_system() {
    for compiler in compilers() {
        let program = with_destructors(compiler, "destructors-in-order");
        // Without a check, the C library and the loader call them.
        let output = Command::new(&program).output().unwrap();
        let order = String::from_utf8(output.stdout).unwrap();
        let order = order.trim();
        let mut letters: Vec<char> = order.chars().collect();
        letters.sort_unstable();
        assert_eq!(
            letters,
            ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 's'],
            "{order}"
        );
        assert!(order.starts_with("ab") && order.ends_with("hg"), "{order}");
        for end in ["by-return", "by-exit"] {
            check_with(&program, &["", order, end]).exits(0);
            check_with(&program, &["", "abc", end])
                .exits(1)
                .says(": failed assertion after 1 execution")
                .says(&line("destructors_first.c", "compares"));
        }
    }
}

#[test]
fn destructors_are_part_of_every_execution() {
    for compiler in compilers() {
        let program = with_destructors(compiler, "destructors");
        for (test, failure) in [
            ("none", "failed assertion"),
            ("explored", "failed assertion"),
            ("races", "data race"),
            ("frees", ""),
        ] {
            let found = check(&program, test);
            found.exits(1).says(&format!("{failure} after "));
            found.says(&line("destructors.c", test));
        }
        // The loader does not call the others if one of them ends the program.
        assert!(
            Command::new(&program)
                .arg("exits")
                .status()
                .unwrap()
                .success()
        );
        check(&program, "exits").exits(0);
        // These ends do not unload the program.
        for end in ["quickly", "at-once"] {
            check_with(&program, &["none", "", end]).exits(0);
        }
    }
}
