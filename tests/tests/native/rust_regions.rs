//! Unmodified Rust programs: what of them is a step of a story, where it is told, and what is quiet.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use raddle::{Checker, Memory, Strategy};

use crate::support::{self, EXHAUSTIVE, Finished, preloaded, run, workspace};

mod world {
    pub use raddle::sync::{Arc, atomic, mpsc};
    pub use raddle::thread;
}

#[path = "../../native/rust/twins.rs"]
pub mod twins;

static TWINS: LazyLock<PathBuf> = LazyLock::new(|| program("twins_main.rs"));
static QUIET: LazyLock<PathBuf> = LazyLock::new(|| program("quiet.rs"));
static RACES: LazyLock<PathBuf> = LazyLock::new(|| program("races.rs"));

fn program(name: &str) -> PathBuf {
    support::rust(name, &format!("rust-regions-{name}"), &[])
}

fn check(program: &Path, which: &str) -> Finished {
    run(program, &[which], &[preloaded(), EXHAUSTIVE])
}

/// The line of a source that has this text and no other.
fn line(source: &str, text: &str) -> usize {
    let path = workspace().join("tests/native/rust").join(source);
    let source = std::fs::read_to_string(path).unwrap();
    let mut found = source
        .lines()
        .enumerate()
        .filter(|(_, it)| it.contains(text));
    let (line, _) = found.next().unwrap_or_else(|| panic!("no {text:?}"));
    assert!(found.next().is_none(), "{text:?} twice");
    line + 1
}

/// The number of orders in which the senders of a program of `twins.rs` can be dropped. They are part of a
/// class in native mode, because another program in the same file polls a channel.
pub fn orders_of_senders(name: &str) -> u64 {
    match name {
        "unbounded" => 2,
        _ => 1,
    }
}

#[test]
fn programs_with_std_have_the_classes_of_programs_with_raddles_types() {
    let mut different = Vec::new();
    for &(name, body) in twins::ALL {
        let checker = Checker::new()
            .memory(Memory::Sc)
            .strategy(Strategy::Exhaustive);
        let report = checker.run(body);
        report.assert_ok();
        assert!(report.exhausted, "{name}");
        let finished = check(&TWINS, name);
        finished.exits(0);
        let library = report.classes() * orders_of_senders(name);
        let native = finished.all_classes();
        if library != native {
            different.push((name, library, native));
        }
    }
    assert_eq!(different, []);
}

#[test]
fn a_panic_that_cannot_unwind_is_told_with_its_message() {
    let ends = "the program aborts, because the panic cannot unwind";
    let program = program("aborts.rs");
    let place = line("aborts.rs", "extern \"C\" fn cannot_unwind()") + 1;
    check(&program, "function")
        .exits(1)
        .says("came second")
        .says(&format!("aborts.rs:{place}:"))
        .says(ends);
    check(&program, "twice")
        .exits(1)
        .says("while cleaning up")
        .says(ends);
    let aborting = support::rust("aborts.rs", "rust-aborting", &["-Cpanic=abort"]);
    check(&aborting, "function")
        .exits(1)
        .says("came second")
        .says(ends);
}

/// The programs of `quiet.rs`: collections, shared pointers, thread-locals, messages, panics, all in order.
pub fn quiet() -> Vec<String> {
    let path = workspace().join("tests/native/rust/quiet.rs");
    let source = std::fs::read_to_string(path).unwrap();
    let names = source.lines().filter_map(|line| {
        let name = line.strip_prefix("    (\"")?.split('"').next()?;
        Some(name.to_owned())
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 24);
    names
}

#[test]
fn what_is_right_has_no_race() {
    for name in quiet() {
        all_is_quiet(&QUIET, &name);
    }
}

/// Programs in which the order of changes of a count matters, which a check that cannot begin again leaves out.
const OF_COUNTS: [&str; 3] = ["arc_drop", "arc_get_mut", "arc_weak"];

/// Nothing is found in a program, and every behaviour was run.
pub fn all_is_quiet(program: &Path, name: &str) {
    let is_of_counts = OF_COUNTS.contains(&name);
    let counted = is_of_counts.then_some(("RADDLE_ARC", "counted"));
    if is_of_counts {
        // What an execution in a process of its own has found is part of the result.
        for restart in ["snapshot", "fork"] {
            let settings = [EXHAUSTIVE, preloaded(), ("RADDLE_RESTART", restart)];
            run(program, &[name], &settings)
                .exits(0)
                .says("the count of an `Arc`");
        }
    }
    let settings: Vec<_> = [EXHAUSTIVE, preloaded()]
        .into_iter()
        .chain(counted)
        .collect();
    run(program, &[name], &settings).exits(0).all_classes();
}

/// A race is told at the user's lines, with nothing of the standard library in between.
#[test]
fn races_are_told_at_the_users_lines() {
    for (name, first, second) in [
        ("static_mut", "COUNT += 1", "COUNT += 2"),
        ("cell", "*shared.0.get() = 1", "*shared.0.get() = 2"),
        ("vector", "(*vector.0).push(1)", "(*vector.0).push(2)"),
        ("raw", "pointer.0.write(5)", "pointer.0.read()"),
        ("cloned", "(*ours.0.get()) += 1", "(*theirs.0.get()) += 1"),
    ] {
        let finished = check(&RACES, name);
        finished.exits(1).says("data race");
        for text in [first, second] {
            finished.says(&format!(
                "at tests/native/rust/races.rs:{}",
                line("races.rs", text)
            ));
        }
        let std_places = ["/rustc/", "rustlib", "library/"];
        let has_any = std_places.iter().any(|it| finished.text.contains(it));
        assert!(!has_any, "{}", finished.text);
    }
}

/// A method of a trait is called by the type that it is of.
#[test]
fn a_race_in_a_method_says_of_what_type_it_is() {
    let place = format!(
        "tests/native/rust/races.rs:{}",
        line("races.rs", "Counter(2).bump()")
    );
    check(&RACES, "method")
        .exits(1)
        .says("data race")
        .says(&format!(
            "in races::Counter::bump, called by races::method at {place}"
        ));
}

/// Fields of the user's have their names, also if those of std have the same.
#[test]
fn fields_are_called_as_the_program_calls_them() {
    check(&RACES, "fields")
        .exits(1)
        .says(" lock FIELDS.lock ")
        .says(" store 1 to FIELDS.once ")
        .says(" store 1 to FIELDS.inner ");
}

/// Every step of a story is at a line of the program, and there are no others.
#[test]
fn a_story_has_the_users_steps_at_the_users_lines() {
    let finished = check(&RACES, "lost_update");
    finished.exits(1).says("crash");
    let table = finished.text.lines().filter(|line| line.contains('│'));
    let steps: Vec<&str> = table.skip(1).collect();
    // Two spawns, two loads and two stores, two joins, a load and the end.
    assert_eq!(steps.len(), 10, "{}", finished.text);
    for (verb, text) in [
        ("spawn", "// to add"),
        ("load", "let v = n.load(SeqCst);"),
        ("store", "n.store(v + 1, SeqCst);"),
        ("join", "h.join().unwrap();"),
    ] {
        let place = format!(":{}", line("races.rs", text));
        let found = steps
            .iter()
            .filter(|step| step.contains(verb) && step.contains(&place));
        assert_eq!(found.count(), 2, "{verb} {place}: {}", finished.text);
    }
}

/// A receiver that waits for ever is told as one of raddle's own.
#[test]
fn who_waits_for_a_message_is_told_so() {
    let finished = check(&RACES, "no_message");
    let place = format!(
        "tests/native/rust/races.rs:{}",
        line("races.rs", "receiver.recv()")
    );
    finished.exits(1).says("deadlock").says(&place);
    assert!(!finished.text.contains("futex"), "{}", finished.text);
}

#[test]
fn threads_have_the_names_that_they_were_built_with() {
    let finished = check(&RACES, "named");
    finished.exits(1).says("worker writes memory").says("COUNT");
}
