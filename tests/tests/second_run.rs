//! The second run of a failing test: the saved schedule fails again, and everything that the first run has learnt
//! about the failure is shown again, in text, JSON and on the page.
//!
//! Each run is a process of its own, which runs an ignored test of this file with a folder of its own.

use std::path::{Path, PathBuf};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;
use serde_json::Value;

use super::gallery;

/// The program of a child.
const PROGRAM: &str = "RADDLE_SECOND_RUN";
/// The name of the checks.
const NAME: &str = "it";

/// Programs of the gallery whose failures have a schedule to save. A hang and a crash end the process before anything
/// else can be learnt.
const PROGRAMS: [&str; 12] = [
    "panic",
    "poison",
    "deadlock",
    "livelock",
    "lost_wakeup",
    "thread_outlives",
    "limit",
    "stack",
    "weak_memory",
    "data_race",
    "use_after_free",
    "not_controlled",
];

fn check(strategy: Strategy) -> Checker {
    let checker = Checker::new().strategy(strategy).named(NAME);
    checker.known_schedules(true).page(true)
}

#[test]
#[ignore = "run by others"]
fn runs_one_program() {
    let Ok(name) = std::env::var(PROGRAM) else {
        return;
    };
    let report = match &*name {
        "variant 1" => check(Strategy::Exhaustive).run(variant_1),
        "variant 2" => check(Strategy::Exhaustive).run(variant_2),
        "remembered" => Checker::new()
            .strategy(Strategy::Exhaustive)
            .named(NAME)
            .remember(true)
            .run(variant_1),
        name => gallery::run(name, check(Strategy::Exhaustive)).expect("a program"),
    };
    println!("{}", report.failures[0]);
}

fn variant_1() {
    let value = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| value.store(value.load(SeqCst) + 1, SeqCst));
        value.store(value.load(SeqCst) + 1, SeqCst);
    });
    assert_eq!(value.load(SeqCst), 2, "an update was lost");
}

/// The same operations at other places.
fn variant_2() {
    let value = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| value.store(value.load(SeqCst) + 1, SeqCst));
        value.store(value.load(SeqCst) + 1, SeqCst);
    });
    assert_eq!(value.load(SeqCst), 2, "an update was lost");
}

/// A folder for the schedules, pages and events of one program.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("second_run");
        let folder = all.join(name.replace(' ', "_"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn schedule(&self) -> PathBuf {
        self.0.join(format!("suite/{NAME}.schedule"))
    }

    /// Runs a program and returns its outputs.
    fn run(&self, program: &str) -> Outputs {
        let events = self.0.join("events");
        let _ = std::fs::remove_file(&events);
        let output = ignored_test(&test_name!("runs_one_program"))
            .arg("--nocapture")
            .env(PROGRAM, program)
            .env("RADDLE_DIR", &self.0)
            .env("RADDLE_EVENTS", &events)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, story) = text.split_once("running 1 test\n").expect("a test runs");
        let (story, _) = story.rsplit_once("test second_run::").expect("a test ends");
        let events = std::fs::read_to_string(events).unwrap();
        let mut events = events
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let event = events.find(|event: &Value| event["event"] == "failure");
        let page = self.0.join(format!("suite/{NAME}/report.json"));
        let page = std::fs::read_to_string(page).unwrap_or("null".to_owned());
        Outputs {
            story: story.to_owned(),
            event: event.expect("a failure"),
            page: serde_json::from_str(&page).unwrap(),
        }
    }
}

/// The outputs of a run about its failure.
#[derive(PartialEq, Debug)]
struct Outputs {
    story: String,
    event: Value,
    page: Value,
}

impl Outputs {
    /// Leaves out how the failure was found: the number of executions, the search, and that it was found again.
    fn without_search(mut self) -> Self {
        self.story = story(&self.story);
        let mut page = self.page["report"]["failures"].take();
        for failure in page.as_array_mut().into_iter().flatten() {
            without_search(failure);
        }
        let mut event = self.event["failure"].take();
        without_search(&mut event);
        let stories = [&self.event["story"], &self.page["stories"][0]];
        let stories = stories.map(|text| story(text.as_str().unwrap_or_default()));
        let excerpts = self.page["excerpts"].take();
        Outputs {
            story: self.story,
            event: serde_json::json!([event, stories[0]]),
            page: serde_json::json!([page, stories[1], excerpts]),
        }
    }
}

fn story(text: &str) -> String {
    let (headline, rest) = text.split_once('\n').expect("a headline");
    let (kind, _) = headline
        .split_once(" after ")
        .expect("a number of executions");
    let is_kept = |part: &&str| !part.trim_start().starts_with("note: found again by ");
    let rest: Vec<&str> = rest.split("\n\n").filter(is_kept).collect();
    format!("{kind}\n{}", rest.join("\n\n"))
}

fn without_search(failure: &mut Value) {
    failure["execution"] = Value::Null;
    failure["search"] = Value::Null;
    let notes = failure["notes"].as_array_mut().expect("notes");
    notes.retain(|note| !note.as_str().unwrap().starts_with("found again by "));
}

#[test]
fn the_second_run_shows_what_the_first_has_learnt() {
    let mut with_a_reason = 0;
    let mut with_a_change = 0;
    for program in PROGRAMS {
        let folder = Folder::new(program);
        let first = folder.run(program);
        let second = folder.run(program);
        assert!(
            second
                .story
                .contains(" after 1 execution (saved schedule)\n"),
            "{program}: {}",
            second.story
        );
        with_a_reason += usize::from(first.story.contains("\n  why:    "));
        with_a_change += usize::from(first.story.contains("\n  help: with `"));
        // What another program reads from JSON is the failure that was printed.
        let read: raddle::Failure =
            serde_json::from_value(second.event["failure"].clone()).unwrap();
        assert_eq!(read.to_string(), second.event["story"], "{program}");
        let third = folder.run(program).without_search();
        let (first, second) = (first.without_search(), second.without_search());
        assert_eq!(first.story, second.story, "{program}");
        assert_eq!(first.event, second.event, "{program}");
        assert_eq!(first.page, second.page, "{program}");
        assert_eq!(second, third, "{program}: once more");
    }
    assert!(with_a_reason >= 4, "{with_a_reason}");
    assert!(with_a_change >= 2, "{with_a_change}");
}

/// The marks of the failure in JSON and on the page, without the place of the failure itself: line and words.
fn causes(outputs: &Outputs) -> Vec<(u64, String)> {
    let marks = &outputs.event["failure"]["marks"];
    assert_eq!(*marks, outputs.page["report"]["failures"][0]["marks"]);
    let marks = marks.as_array().unwrap().iter();
    let causes = marks.filter(|mark| mark["is_primary"] == false);
    let causes = causes.map(|mark| {
        let line = mark["place"]["line"].as_u64().unwrap();
        (line, mark["what"].as_str().unwrap().to_owned())
    });
    causes.collect()
}

/// The lines of a program of the gallery that contain these.
fn lines_with(program: &str, parts: [&str; 2]) -> [u64; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("gallery");
    let file = folder.join(format!("{program}.rs"));
    let source = std::fs::read_to_string(file).unwrap();
    parts.map(|part| {
        let index = source.lines().position(|line| line.contains(part));
        index.expect("a line") as u64 + 1
    })
}

#[test]
fn the_orderings_of_help_are_among_the_marks_of_both_runs() {
    let folder = Folder::new("marks");
    let [store, load] = lines_with("weak_memory", ["flag.store(", "ready.load("]);
    let what = |ordering| {
        format!(
            "`{ordering}` instead of `Relaxed` here is one of the 2 changes with which this does not happen"
        )
    };
    let expected = [(store, what("Release")), (load, what("Acquire"))];
    for run in ["first", "second"] {
        assert_eq!(causes(&folder.run("weak_memory")), expected, "{run}");
    }
}

#[test]
fn a_data_race_marks_the_orderings_that_are_too_weak_once() {
    let folder = Folder::new("marks_of_race");
    let [store, load] = lines_with("data_race", [".store(", ".load("]);
    for run in ["first", "second"] {
        let outputs = folder.run("data_race");
        assert!(outputs.story.contains("\n  help: with `"), "{run}");
        let causes = causes(&outputs);
        for line in [store, load] {
            let at = causes.iter().filter(|(at, _)| *at == line).count();
            assert_eq!(at, 1, "{run}: {causes:?}");
        }
    }
}

#[test]
fn a_remembered_failure_keeps_its_reason() {
    let folder = Folder::new("remembered");
    let first = folder.run("remembered");
    assert!(first.story.contains("\n  why:    "), "{}", first.story);
    let second = folder.run("remembered");
    assert!(second.story.contains("(remembered schedule)\n"));
    assert_eq!(story(&first.story), story(&second.story));
}

#[test]
fn another_failure_on_the_same_schedule_is_not_explained_by_the_first() {
    let folder = Folder::new("variants");
    let first = folder.run("variant 1");
    assert!(first.story.contains("\n  why:    "), "{}", first.story);
    let second = folder.run("variant 2");
    assert!(second.story.contains("(saved schedule)\n"));
    assert!(!second.story.contains("why:"), "{}", second.story);
}

/// Edits the saved schedule between the two runs.
fn after_edit(name: &str, edit: impl Fn(&str) -> String) -> (Outputs, Outputs) {
    let folder = Folder::new(name);
    let first = folder.run("weak_memory");
    let text = std::fs::read_to_string(folder.schedule()).unwrap();
    let edited = edit(&text);
    assert_ne!(text, edited);
    std::fs::write(folder.schedule(), edited).unwrap();
    (first, folder.run("weak_memory"))
}

#[test]
fn statements_about_every_execution_need_the_same_build() {
    let (first, second) = after_edit("another_build", |text| {
        text.replace("# learnt program ", "# learnt program 0")
    });
    assert!(first.story.contains("help: with `"), "{}", first.story);
    assert!(!second.story.contains("help: with `"), "{}", second.story);
    let why = |outputs: &Outputs| {
        let lines = outputs.story.lines();
        lines.filter(|line| line.starts_with("  why: ")).count()
    };
    assert_eq!(why(&first), why(&second));
    assert_eq!(second.event["failure"]["minimised"]["is_minimal"], false);
    assert_ne!(causes(&first), []);
    assert_eq!(causes(&second), []);
}

#[test]
fn a_reason_needs_an_execution_that_passes() {
    let (first, second) = after_edit("no_passing_execution", |text| {
        let (schedule, _) = text.split_once("# learnt").unwrap();
        let failing: raddle::Schedule = schedule.parse().unwrap();
        let lines = text
            .lines()
            .map(|line| match line.strip_prefix("# learnt passing ") {
                Some(_) => format!("# learnt passing 0 {}\n", failing.to_token()),
                None => format!("{line}\n"),
            });
        lines.collect()
    });
    assert_ne!(first.event["failure"]["passing"], Value::Null);
    assert_eq!(second.event["failure"]["passing"], Value::Null);
    assert_eq!(second.event["failure"]["critical"], Value::Null);
}
