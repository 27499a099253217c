//! Tests that never end, and tests that end their process: what they leave behind. Each program is
//! run in a process of its own.
//!
//! The programs stand at the top, so that their line numbers stay what the stories say.

use std::process::Output;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

/// Only the programs' parent sets it, so that nothing hangs when everything ignored is run.
const IS_CHILD: &str = "RADDLE_TESTS_CHILD";

macro_rules! programs {
    ($(fn $name:ident() $body:block)*) => {
        mod programs {
            $(#[test]
            #[ignore = "run by the tests of this file"]
            fn $name() {
                if std::env::var_os(super::IS_CHILD).is_some() {
                    super::$name();
                }
            })*
        }
        $(fn $name() $body)*
    };
}

programs! {
    fn std_lock_taken_twice() {
        raddle::check(|| {
            let (controlled, plain) = (Mutex::new(()), std::sync::Mutex::new(()));
            drop(controlled.lock());
            let _held = plain.lock();
            drop(plain.lock());
        });
    }

    fn std_lock_held_by_another() {
        raddle::check(|| {
            let plain = std::sync::Mutex::new(());
            let controlled = Mutex::new(());
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let _held = plain.lock();
                        drop(controlled.lock());
                    });
                }
            });
        });
    }

    fn endless_loop() {
        raddle::check(|| {
            let value = AtomicU32::new(0);
            assert_eq!(value.load(SeqCst), 0);
            loop {
                std::hint::spin_loop();
            }
        });
    }

    fn endless_destructor() {
        struct Endless;
        impl Drop for Endless {
            fn drop(&mut self) {
                loop {
                    std::hint::spin_loop();
                }
            }
        }
        raddle::check(|| {
            let _endless = Endless;
            let lock = Mutex::new(());
            let _held = lock.lock();
            drop(lock.lock());
        });
    }

    fn panics_in_a_destructor_on_the_way() {
        struct Fragile;
        impl Drop for Fragile {
            fn drop(&mut self) {
                panic!("the destructor fails");
            }
        }
        raddle::check(|| {
            let _fragile = Fragile;
            let lock = Mutex::new(());
            let _held = lock.lock();
            panic!("the body fails");
        });
    }

    fn deadlocks() {
        raddle::check(|| {
            let lock = Mutex::new(());
            let _held = lock.lock();
            drop(lock.lock());
        });
    }
}

/// The watchdog's limit. A program comes to where it hangs at once; a longer limit costs the test more
/// time, a shorter one lets a busy machine look like a hang.
const LIMIT: &str = "2s";

/// A folder in which nothing is known from an earlier run.
fn fresh_folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("raddle-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn run(program: &str, variables: &[(&str, &str)]) -> Output {
    let folder = fresh_folder(program);
    let output = run_in(&folder, program, variables);
    let _ = std::fs::remove_dir_all(&folder);
    output
}

/// The name of a program's test.
fn name(program: &str) -> String {
    raddle_tests::test_name!(&format!("programs::{program}"))
}

fn run_in(folder: &std::path::Path, program: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = raddle_tests::child::ignored_test(&name(program));
    command.arg("--test-threads=1");
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("RADDLE_") || name == "NO_COLOR" || name == "CLICOLOR_FORCE" {
            command.env_remove(&variable);
        }
    }
    command.env("RADDLE_DIR", folder);
    let variables = variables.iter().copied();
    let output = command.envs(variables).env(IS_CHILD, "1").output();
    output.unwrap()
}

/// What a program that hangs leaves behind.
fn story(program: &str) -> String {
    let output = run(program, &[("RADDLE_WATCHDOG", LIMIT)]);
    let story = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{story}");
    story
}

const HELP: &str = "  help: look for a lock of std's, or of a crate that does not use raddle, that \
                    is taken twice or that another thread has; for a loop that waits and calls \
                    nothing that raddle controls; for a sleep or a read of std's. If it only takes \
                    so long, raise the limit with `watchdog` or RADDLE_WATCHDOG";

#[test]
fn a_lock_of_std_that_is_taken_twice() {
    let told = story("std_lock_taken_twice");
    let (facts, replay) = told.split_once("  replay: ").unwrap();
    let expected = format!(
        "\
hang after 1 execution (auto)

  main has not come to a scheduling point for 2s; the last was: unlock controlled at tests/tests/hangs.rs:34
{HELP}

   step │ main
      1 │ lock controlled :34
      2 │ unlock controlled :34

  controlled was made at tests/tests/hangs.rs:33

"
    );
    assert_eq!(facts, expected);
    let (replay, page) = replay.split_once("\n  report: ").unwrap();
    assert!(replay.ends_with(" cargo test hangs::programs::std_lock_taken_twice -- --exact"));
    assert!(page.ends_with("/suite/hangs.programs.std_lock_taken_twice/index.html\n"));
}

#[test]
fn a_hang_is_found_again_by_the_saved_schedule() {
    let folder = fresh_folder("saved-hang");
    let file = folder.join("suite/hangs.programs.std_lock_taken_twice.schedule");
    let said = || {
        let variables = [("RADDLE_WATCHDOG", LIMIT)];
        let output = run_in(&folder, "std_lock_taken_twice", &variables);
        assert_eq!(output.status.code(), Some(2));
        let schedule = std::fs::read_to_string(&file).unwrap();
        (String::from_utf8(output.stderr).unwrap(), schedule)
    };
    let (first, schedule) = said();
    assert_eq!(
        schedule,
        "raddle schedule 2\n\
         check hangs::programs::std_lock_taken_twice\n\
         main: begin, lock Mutex, unlock Mutex\n"
    );
    let note = format!(
        "\n  note: found again by the saved schedule {}\n\n  replay: ",
        file.display()
    );
    let expected = first
        .replace("(auto)", "(saved schedule)")
        .replace("\n  replay: ", &note);
    assert_eq!(said(), (expected, schedule));
    let page = file.with_extension("").join("index.html");
    assert!(page.is_file(), "a hang has a page too");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The headline and what comes before the help.
fn facts(program: &str) -> String {
    let story = story(program);
    let (facts, _) = story.split_once("  help: look for").unwrap();
    facts.replace("tests/tests/", "")
}

#[test]
fn a_lock_of_std_that_another_thread_has() {
    assert_eq!(
        facts("std_lock_held_by_another"),
        "hang after 1 execution (auto)\n\n  main.2 has not come to a scheduling point for 2s; \
         the last was: begin at hangs.rs:46\n"
    );
}

#[test]
fn a_loop_without_scheduling_points() {
    assert_eq!(
        facts("endless_loop"),
        "hang after 1 execution (auto)\n\n  main has not come to a scheduling point for 2s; the \
         last was: load value = 0 at hangs.rs:58\n"
    );
}

#[test]
fn a_destructor_without_end() {
    assert_eq!(
        facts("endless_destructor"),
        "hang after 1 execution (auto)\n\n  main has not come to a scheduling point for 2s; the \
         last was: lock lock at hangs.rs:77\n  the execution is over, and its threads are being \
         unwound: a destructor hangs\n"
    );
}

#[test]
fn a_panic_in_a_destructor_that_a_panic_runs() {
    let output = run("panics_in_a_destructor_on_the_way", &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), None, "aborted\n{said}");
    let (facts, rest) = said.split_once("  replay: ").unwrap();
    assert_eq!(
        facts,
        "\
panic after 1 execution (auto)

  main panicked at tests/tests/hangs.rs:93:13:
  the body fails
  and panicked again at tests/tests/hangs.rs:86:17, in a destructor on the way:
  the destructor fails
  which ends the process, as it does outside a check
  help: a destructor must not panic while its thread does; ask `raddle::thread::panicking()`

   step │ main
      1 │ lock lock :92
      2 │ panic :93

  lock was made at tests/tests/hangs.rs:91

"
    );
    assert!(
        rest.contains("thread caused non-unwinding panic. aborting."),
        "{rest}"
    );
}

#[test]
fn colour_is_there_when_it_is_asked_for_and_not_otherwise() {
    let said = |variables: &[(&str, &str)]| {
        let output = run("deadlocks", variables);
        String::from_utf8(output.stdout).unwrap()
    };
    let headline = "deadlock after 1 execution (auto, seed 0)";
    for off in [
        &[][..],
        &[("CLICOLOR_FORCE", "0")],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
    ] {
        let said = said(off);
        assert!(said.contains(headline) && !said.contains('\x1b'), "{said}");
    }
    let coloured = said(&[("CLICOLOR_FORCE", "1")]);
    let painted = format!("\x1b[1;31m{headline}\x1b[0m\n");
    assert!(coloured.contains(&painted), "{coloured}");
    assert!(
        coloured.contains("   step │ \x1b[1;36mmain\x1b[0m\n"),
        "{coloured}"
    );
    let plain = coloured.replace("\x1b[1;31m", "").replace("\x1b[1;36m", "");
    let story = |text: &str| {
        let start = text.find(headline).unwrap();
        text[start..text.find("replay:").unwrap()].to_owned()
    };
    assert_eq!(story(&plain.replace("\x1b[0m", "")), story(&said(&[])));
}

#[test]
fn a_watchdog_that_makes_no_sense_is_refused() {
    let output = run("deadlocks", &[("RADDLE_WATCHDOG", "soon")]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(101), "{said}");
    let problem = "raddle: RADDLE_WATCHDOG: `soon` is not a time such as 500ms, 20s, 2m or 1h";
    assert!(said.contains(problem), "{said}");
}
