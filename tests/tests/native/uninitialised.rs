//! Reads of memory that nothing has written: every way to get memory with every use of it, and twins that are
//! right.

use crate::support::{EXHAUSTIVE, compile, compilers, run, workspace};

const SOURCE: &str = "tests/native/uninitialised.c";
const ON: (&str, &str) = ("RADDLE_UNINITIALISED", "1");

/// The line of the source with this comment.
fn line(comment: &str) -> String {
    line_of(SOURCE, &format!("/* {comment} */"))
}

/// The line of another source that contains a text.
fn line_of(source: &str, part: &str) -> String {
    let text = std::fs::read_to_string(workspace().join(source)).unwrap();
    let found = text.lines().position(|line| line.contains(part));
    let line = found.unwrap_or_else(|| panic!("no {part}")) + 1;
    format!("{source}:{line}")
}

/// The name of each case, and what is said about it.
fn cases(
    program: &std::path::Path,
    which: &str,
    settings: &[(&str, &str)],
) -> Vec<(String, String)> {
    let all = run(program, &[which], settings);
    let text = format!("\n{}", all.text);
    let cases = text.split("\ncase ").skip(1).map(|case| {
        let (name, found) = case.split_once('\n').unwrap();
        (name.to_owned(), found.to_owned())
    });
    cases.collect()
}

/// True if there is no failure in any execution.
fn is_right(found: &str) -> bool {
    let results = [": every behaviour was run", ": nothing to explore"];
    results.iter().any(|result| found.contains(result)) && !found.contains(" after ")
}

#[test]
fn a_read_of_what_was_not_written_fails_at_its_line() {
    for compiler in compilers() {
        let program = compile(compiler, "uninitialised.c", "unwritten", &["-O1"]);
        let wrong = cases(&program, "wrong", &[EXHAUSTIVE, ON]);
        assert_eq!(wrong.len(), 10 * 10);
        for (name, found) in wrong {
            let (way, used) = name.split_once(' ').unwrap();
            let failure = "uninitialised read after 1 execution";
            assert!(found.contains(failure), "{compiler} {name}\n{found}");
            let read = format!("nothing has written at {}:", line(used));
            assert!(found.contains(&read), "{compiler} {name}\n{found}");
            if way != "from-stack" {
                let made = format!(", made at {}", line(way));
                assert!(found.contains(&made), "{compiler} {name}\n{found}");
            } else {
                assert!(
                    found.contains("there since its function was entered"),
                    "{compiler} {name}\n{found}"
                );
            }
        }
    }
}

#[test]
fn a_read_of_what_was_written_is_right_whoever_writes() {
    for compiler in compilers() {
        for level in ["-O0", "-O2"] {
            let test = format!("written{level}");
            let program = compile(compiler, "uninitialised.c", &test, &[level]);
            for (which, count) in [("right", 18 * 10), ("copies", 9)] {
                let right = cases(&program, which, &[EXHAUSTIVE, ON]);
                assert_eq!(right.len(), count);
                for (name, found) in right {
                    assert!(is_right(&found), "{compiler} {level} {name}\n{found}");
                }
            }
        }
    }
}

#[test]
fn reads_are_only_reported_if_that_is_asked_for() {
    let program = compile("gcc", "uninitialised.c", "unasked", &["-O1"]);
    for which in ["wrong", "right", "copies"] {
        for (name, found) in cases(&program, which, &[EXHAUSTIVE]) {
            assert!(is_right(&found), "{name}\n{found}");
        }
    }
}

#[test]
fn single_mistakes_are_found_wherever_threads_run() {
    let program = compile("gcc", "uninitialised.c", "mistakes", &["-O1"]);
    for (variable, value) in [
        ("RADDLE_MEMORY", "sc"),
        ("RADDLE_MEMORY", "rc11"),
        ("RADDLE_PLAIN", "explore"),
        ("RADDLE_SUBSTRATE", "os"),
        ("RADDLE_RESTART", "fork"),
        ("RADDLE_RESTART", "loop"),
    ] {
        let mistakes = cases(&program, "mistakes", &[EXHAUSTIVE, ON, (variable, value)]);
        assert_eq!(mistakes.len(), 5, "{value}");
        for (name, found) in mistakes {
            // Needs a weak memory model.
            if name == "stale" && value != "rc11" {
                assert!(is_right(&found), "{value} {name}\n{found}");
                continue;
            }
            let failure = "uninitialised read after ";
            assert!(found.contains(failure), "{value} {name}\n{found}");
            assert!(found.contains(&line(&name)), "{value} {name}\n{found}");
        }
    }
}

#[test]
fn a_failing_read_is_replayed() {
    let program = compile("gcc", "uninitialised.c", "replayed", &["-O1"]);
    let found = run(&program, &["mistakes"], &[EXHAUSTIVE, ON]);
    assert!(
        found.text.contains("RADDLE_UNINITIALISED=1 "),
        "{}",
        found.text
    );
}

#[test]
fn objects_of_cpp_are_deleted_once_and_read_after_their_constructor() {
    for compiler in compilers() {
        let program = compile(compiler, "deletes.cpp", "deletes", &["-O1"]);
        let cases = cases(&program, "", &[EXHAUSTIVE, ON]);
        assert_eq!(cases.len(), 4 * 2 + 3);
        for (name, found) in cases {
            let failure = match &name[..] {
                "read-initialised" => {
                    assert!(is_right(&found), "{compiler}\n{found}");
                    continue;
                }
                read if read.starts_with("read") => "uninitialised read",
                _ => "double free",
            };
            let failure = format!(": {failure} after 1 execution");
            assert!(found.contains(&failure), "{compiler} {name}\n{found}");
            let place = line_of("tests/native/deletes.cpp", &format!("// {name}"));
            assert!(found.contains(&place), "{compiler} {name}\n{found}");
        }
    }
}
