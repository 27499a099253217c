//! The same programs with std's types under `--native` and with raddle's: the same failure, told alike.

use raddle::{cell, sync, thread};

use raddle::{Checker, Failure, Memory, Strategy};
use raddle_tests::exhaust_with;
use serde_json::Value;

use crate::rust_tests::test;

#[path = "../../native-rust/twins/src/bugs.rs"]
pub mod bugs;
#[path = "../../native-rust/twins/src/litmus.rs"]
pub mod litmus;
#[path = "../../native-rust/polls/src/programs.rs"]
pub mod programs;

/// A failure as both modes must tell it: names of things are numbers by first use, places are lines.
#[derive(Debug, PartialEq)]
struct Told {
    kind: String,
    message: String,
    steps: Vec<String>,
    preemptions: Value,
    why: String,
}

/// Kinds of things, as they stand before names.
const KINDS: [&str; 7] = [
    "Mutex",
    "Condvar",
    "RwLock",
    "Barrier",
    "Channel",
    "UnsafeCell",
    "memory",
];

/// Numbers for the names of things, in the order in which a text comes to them.
struct Things {
    names: Vec<String>,
    used: Vec<usize>,
}

impl Things {
    fn of(failure: &Value) -> Self {
        let things = failure["trace"]["things"].as_array().unwrap();
        let name = |thing: &Value| thing[0].as_str().unwrap().to_owned();
        Things {
            names: things.iter().map(name).collect(),
            used: Vec::new(),
        }
    }

    /// The text with numbers instead of names, longer names first: `a[10]` is not `a[1]`.
    fn number(&mut self, text: &str) -> String {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&thing| std::cmp::Reverse(self.names[thing].len()));
        // The ends of a channel have names of their own in library mode.
        let mut numbered = text.replace("Receiver", "Channel");
        for thing in order {
            let name = &self.names[thing];
            if numbered.contains(name.as_str()) {
                let known = self.used.iter().position(|&used| used == thing);
                let number = known.unwrap_or_else(|| {
                    self.used.push(thing);
                    self.used.len() - 1
                });
                numbered = numbered.replace(name.as_str(), &format!("thing{number}"));
            }
        }
        // What has a name of its own comes with its kind, which is part of other names.
        for kind in KINDS {
            numbered = numbered.replace(&format!("{kind} `thing"), "`thing");
        }
        numbered.replace('`', "")
    }
}

/// The text without the folders before `bugs.rs`.
fn without_folders(text: &str) -> String {
    let word = |word: &str| match word.find("bugs.rs") {
        Some(at) => {
            let begin = word
                .find(|c: char| c.is_alphanumeric() || c == '/')
                .unwrap_or(0);
            format!("{}{}", &word[..begin.min(at)], &word[at..])
        }
        None => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The lines of a message that both modes have. Only programs that are known by their addresses have calls and
/// blocks to tell; and advice counts an ordering once for each way to its line.
fn in_common(message: &str) -> String {
    let is_common = |line: &&str| {
        !["help:", "  in ", "thing0 is ", "memory "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let lines: Vec<&str> = message.lines().filter(is_common).collect();
    lines.join("\n")
}

fn told(failure: &Value) -> Told {
    let mut things = Things::of(failure);
    let threads = failure["trace"]["threads"].as_array().unwrap();
    let title = |thread: &Value| {
        let thread = &threads[thread.as_u64().unwrap() as usize];
        let name = thread["name"].as_str();
        name.or(thread["path"].as_str()).unwrap().to_owned()
    };
    let mut steps = Vec::new();
    for step in failure["trace"]["steps"].as_array().unwrap() {
        let what = things.number(step["what"].as_str().unwrap());
        // Where the check begins and where threads end is nowhere in the program. Nor does a story say that
        // nothing unexpected happens.
        if matches!(&*what, "begin" | "end" | "nothing unexpected") {
            continue;
        }
        let waits = if step["waits"] == true { "waits: " } else { "" };
        // Library mode knows where a guard was made, and not where it is dropped.
        let line = match what.contains("unlock") {
            true => Value::Null,
            false => step["place"]["line"].clone(),
        };
        steps.push(format!("{}: {waits}{what} :{line}", title(&step["thread"])));
    }
    Told {
        kind: failure["kind"].as_str().unwrap().to_owned(),
        message: in_common(&things.number(&without_folders(failure["message"].as_str().unwrap()))),
        steps,
        preemptions: failure["minimised"]["preemptions_after"].clone(),
        why: things.number(failure["critical"]["why"].as_str().unwrap_or_default()),
    }
}

/// What library mode says of a program.
fn in_library_mode(memory: Memory, program: fn()) -> Failure {
    let checker = Checker::new().memory(memory).strategy(Strategy::Exhaustive);
    let report = checker.page(false).run(program);
    report.failures.into_iter().next().expect("it fails")
}

/// The programs that fail under a memory model, by name.
const SC: [(&str, fn()); 16] = [
    ("lost_update", bugs::lost_update),
    ("scoped_update", bugs::scoped_update),
    ("opposite_orders", bugs::opposite_orders),
    ("named_threads", bugs::named_threads),
    ("lost_wakeup", bugs::lost_wakeup),
    ("woken_without_reason", bugs::woken_without_reason),
    ("check_then_act", bugs::check_then_act),
    ("too_few_messages", bugs::too_few_messages),
    ("both_send_first", bugs::both_send_first),
    ("upgrade", bugs::upgrade),
    ("set_up_twice", bugs::set_up_twice),
    ("one_too_few", bugs::one_too_few),
    ("unparked_too_early", bugs::unparked_too_early),
    ("assertion_in_a_thread", bugs::assertion_in_a_thread),
    ("lock_is_taken", bugs::lock_is_taken),
    ("published_too_weakly", bugs::published_too_weakly),
];
const ONLY_RC11: [(&str, fn()); 2] = [
    ("stale_message", bugs::stale_message),
    ("both_enter", bugs::both_enter),
];

/// What each mode says of programs that fail under a model.
fn compare(memory: Memory, name: &str, programs: &[(&str, fn())]) {
    let flags = ["--strategy", "exhaustive", "--memory", name];
    let tests = test(&[&flags[..], &["-p", "twins", "tests::"]].concat());
    let mut differences = Vec::new();
    for &(program, run) in programs {
        let library = told(&serde_json::to_value(in_library_mode(memory, run)).unwrap());
        let checked = &tests[&("twins".to_owned(), format!("tests::{program}"))];
        let native = match checked.failures.as_slice() {
            [failure] => told(failure),
            _ => panic!("{program}: {checked:#?}"),
        };
        if native != library {
            differences.push(format!(
                "{program}\nlibrary: {library:#?}\nnative: {native:#?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn stories_are_those_of_library_mode() {
    compare(Memory::Sc, "sc", &SC);
}

#[test]
fn stories_of_weak_memory_are_those_of_library_mode() {
    compare(Memory::Rc11, "rc11", &ONLY_RC11);
}

/// Both modes agree that these bugs are of weak memory: no schedule has them otherwise.
#[test]
fn weak_bugs_do_not_show_in_one_order() {
    let tests = test(&["--strategy", "exhaustive", "-p", "twins", "tests::"]);
    for (program, run) in ONLY_RC11 {
        let checker = Checker::new().memory(Memory::Sc);
        let classes = exhaust_with(checker, run).classes();
        let checked = &tests[&("twins".to_owned(), format!("tests::{program}"))];
        assert_eq!(checked.all_classes(), classes, "{program}");
    }
}
