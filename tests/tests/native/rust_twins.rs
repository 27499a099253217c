//! The same programs with std's types under `--native` and with raddle's: the same failure, told alike.

use raddle::{cell, sync, thread};

use raddle::{Checker, Failure, Memory, Strategy};
use serde_json::Value;

use crate::rust_tests::test;

#[path = "../../native-rust/twins/src/bugs.rs"]
pub mod bugs;
#[path = "../../native-rust/twins/src/litmus.rs"]
pub mod litmus;

/// A failure as both modes must tell it: names of things are numbers by first use, places are lines.
#[derive(Debug, PartialEq)]
struct Told {
    kind: String,
    message: String,
    steps: Vec<String>,
    preemptions: Value,
    why: String,
}

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
        let mut numbered = text.to_owned();
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
        numbered
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
        // Where the check begins and where threads end is nowhere in the program.
        if matches!(&*what, "begin" | "end") {
            continue;
        }
        let waits = if step["waits"] == true { "waits: " } else { "" };
        let line = &step["place"]["line"];
        steps.push(format!("{}: {waits}{what} :{line}", title(&step["thread"])));
    }
    Told {
        kind: failure["kind"].as_str().unwrap().to_owned(),
        message: things.number(&without_folders(failure["message"].as_str().unwrap())),
        steps,
        preemptions: failure["minimised"]["preemptions"].clone(),
        why: things.number(&format!("{:?}", failure["critical"])),
    }
}

/// What library mode says of a program.
fn in_library_mode(memory: Memory, program: fn()) -> Failure {
    let checker = Checker::new().memory(memory).strategy(Strategy::Exhaustive);
    let report = checker.page(false).run(program);
    report.failures.into_iter().next().expect("it fails")
}

#[test]
fn try_it() {
    let tests = test(&["--strategy", "exhaustive", "-p", "twins", "tests::"]);
    let all: [(&str, fn()); 16] = [
        ("lost_update", bugs::lost_update),
        ("opposite_orders", bugs::opposite_orders),
        ("lost_wakeup", bugs::lost_wakeup),
        ("check_then_act", bugs::check_then_act),
        ("too_few_messages", bugs::too_few_messages),
        ("both_send_first", bugs::both_send_first),
        ("upgrade", bugs::upgrade),
        ("set_up_twice", bugs::set_up_twice),
        ("one_too_few", bugs::one_too_few),
        ("unparked_too_early", bugs::unparked_too_early),
        ("assertion_in_a_thread", bugs::assertion_in_a_thread),
        ("published_too_weakly", bugs::published_too_weakly),
        ("lock_is_taken", bugs::lock_is_taken),
        ("woken_without_reason", bugs::woken_without_reason),
        ("named_threads", bugs::named_threads),
        ("scoped_update", bugs::scoped_update),
    ];
    for (name, program) in all {
        let library = in_library_mode(Memory::Sc, program);
        let story = library.to_string();
        let library = told(&serde_json::to_value(&library).unwrap());
        let checked = &tests[&("twins".to_owned(), format!("tests::{name}"))];
        let native = checked.failures.first().map(told);
        if native.as_ref() != Some(&library) {
            println!("== {name}\n{library:#?}\n{native:#?}\n{story}");
        } else {
            println!("== {name} equal");
        }
    }
}
