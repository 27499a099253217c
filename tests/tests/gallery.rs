//! The gallery of failures in the book: every program with exactly what is printed for it.
//!
//! `UPDATE_EXPECTED=1 cargo test --test suite gallery` writes programs and texts into the
//! page anew; read the difference before you keep it. What is around them is written by hand.

use std::path::{Path, PathBuf};

use raddle::{Checker, Guarantee, Reduction, Report, Strategy};
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

macro_rules! programs {
    ($($name:ident)*) => {$(
        mod $name {
            include!(concat!("../gallery/", stringify!($name), ".rs"));
        }
    )*};
}
programs! {
    panic poison deadlock livelock lost_wakeup thread_outlives limit stack nondeterminism schedule hang ignored
    lock_order leak requirement weak_memory data_race use_after_free crash impossible not_controlled
}

const IS_CHILD: &str = "RADDLE_GALLERY_CHILD";

fn checker() -> Checker {
    Checker::new().strategy(Strategy::Exhaustive).named("it")
}

/// Runs a program with this check; `None` if it needs a process of its own.
pub(crate) fn run(name: &str, checker: Checker) -> Option<Report> {
    Some(match name {
        "panic" => checker.run(panic::lost_update),
        "poison" => checker.run(poison::poisoned),
        "deadlock" => checker.run(deadlock::dinner),
        "livelock" => checker.run(livelock::after_you),
        "lost_wakeup" => checker.run(lost_wakeup::ready),
        "thread_outlives" => checker.run(thread_outlives::forgotten),
        "limit" => checker.max_events(12).run(limit::counts_in_a_loop),
        "stack" => checker.run(stack::recursion),
        "ignored" => checker
            .reduce(Reduction::Paths)
            .run(ignored::counts_and_looks),
        "nondeterminism" => checker.run(nondeterminism::only_the_first_time),
        "schedule" => {
            let schedule = "raddle schedule 2; main: begin, lock Mutex, unlock Mutex, end";
            let replay = Strategy::Replay(schedule.parse().unwrap());
            checker.strategy(replay).run(schedule::now_with_try_lock)
        }
        "impossible" => {
            let alternative = "main a 0 sees main.1 a 0; main b 0 sees main b 0";
            let directed = Strategy::Directed(alternative.parse().unwrap());
            let checker = checker.strategy(directed);
            checker.run(impossible::written_and_read_together)
        }
        "requirement" => {
            let sampled = checker.strategy(Strategy::Random).max_executions(10);
            sampled
                .require(Guarantee::Exhaustive)
                .run(requirement::counts)
        }
        "lock_order" => checker.run(lock_order::one_after_the_other),
        "leak" => checker.run(leak::sends_too_much),
        "data_race" => checker.run(data_race::published_too_weakly),
        "use_after_free" => checker.run(use_after_free::dropped_too_early),
        "not_controlled" => checker.run(not_controlled::counts_in_a_thread_of_std),
        "weak_memory" => checker.run(weak_memory::published),
        _ => return None,
    })
}

/// What is printed for a program, without how to replay it.
fn shown(name: &str) -> String {
    let story = match (name, run(name, checker())) {
        ("hang", _) => in_a_child("hangs"),
        ("crash", _) => in_a_child("crashes"),
        ("lock_order" | "leak", Some(report)) => format!("warning: {}", report.warnings[0]),
        (_, Some(report)) => report.failures[0].to_string(),
        (_, None) => panic!("no program is called {name}"),
    };
    let story = story.split("  replay: ").next().unwrap().trim_end();
    story.replace("tests/tests/../gallery/", "")
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn hangs() {
    if std::env::var_os(IS_CHILD).is_some() {
        checker().run(hang::takes_a_lock_of_std_twice);
    }
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn crashes() {
    if std::env::var_os(IS_CHILD).is_some() {
        checker().run(crash::follows_a_wild_pointer);
    }
}

/// What is printed by a test that ends its process.
fn in_a_child(test: &str) -> String {
    let mut command = ignored_test(&test_name!(test));
    let command = command
        .env(IS_CHILD, "1")
        .env("RADDLE_WATCHDOG", "1s")
        .env_remove("RADDLE_STRATEGY");
    String::from_utf8(command.output().unwrap().stderr).unwrap()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program and its text as the page has them.
fn exhibit(name: &str) -> String {
    let file = workspace().join(format!("tests/gallery/{name}.rs"));
    let program = std::fs::read_to_string(file).unwrap();
    let shown = shown(name);
    format!("\n```rust\n{program}```\n\n```text\n{shown}\n```\n\n")
}

#[test]
fn every_failure_is_printed_as_the_page_says() {
    let file = workspace().join("docs/src/gallery.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut parts = page.split("<!-- program: ");
    let mut written = parts.next().unwrap().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").expect("a mark has an end");
        let (_, rest) = rest
            .split_once("<!-- end -->")
            .expect("a program has an end");
        let exhibit = exhibit(name);
        written += &format!("<!-- program: {name} -->\n{exhibit}<!-- end -->{rest}");
        names.push(name);
    }
    let mut files: Vec<_> = std::fs::read_dir(workspace().join("tests/gallery"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    names.sort();
    let names: Vec<_> = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names, files, "every program is on the page once");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&file, &written).unwrap();
    }
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page == written, "the page should be\n{written}");
}
