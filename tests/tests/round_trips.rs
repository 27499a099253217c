//! Every failure of the examples and of the gallery is found, saved, and replayed by its token and
//! from its file; and then something that has nothing to do with it comes into every function and
//! closure of the program, on lines of its own, and the old schedule still leads to it.
//!
//! The programs are built in a crate of their own, once as they are and once edited. `schedules.rs`
//! does the same with smaller programs and more edits.

use std::path::{Path, PathBuf};

use crate::support::{Newcomer, builds, finish, workspace};

/// Programs of the gallery, with what to run; without those that have no schedule to replay
/// (`nondeterminism`) or begin with one (`schedule`).
const GALLERY: [(&str, &str); 12] = [
    ("panic", "lost_update"),
    ("poison", "poisoned"),
    ("deadlock", "dinner"),
    ("lost_wakeup", "ready"),
    ("thread_outlives", "forgotten"),
    ("livelock", "after_you"),
    ("limit", "counts_in_a_loop"),
    ("stack", "recursion"),
    ("hang", "takes_a_lock_of_std_twice"),
    ("lock_order", "one_after_the_other"),
    ("leak", "sends_too_much"),
    ("weak_memory", "published"),
];

/// What is inserted, with a line that raddle does not see.
const EDIT: &str = "    assert_eq!(std::hint::black_box(1), 1);\n    \
                    drop(raddle::sync::Mutex::new(0).lock());\n";

/// The program with the edit at the beginning of every function and closure that has braces.
fn edited(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines() {
        text += line;
        text += "\n";
        let is_function = line.trim_start().starts_with("fn ") || line.contains("pub fn ");
        // The recursion without end would come to the limit of events before it is out of stack.
        let is_function = is_function && !line.contains("fn sum(");
        if line.ends_with("| {") || (is_function && line.ends_with('{')) {
            text += EDIT;
        }
    }
    assert_ne!(text, source);
    text
}

fn main_of(name: &str, program: &str) -> String {
    format!(
        "fn main() {{
            use raddle::{{Checker, Level, Strategy}};
            let checker = Checker::new().strategy(Strategy::Exhaustive).max_events(60);
            let checker = checker.lock_order(Level::Deny).leaks(Level::Deny).named(\"{name}\");
            println!(\"{{}}\", checker.run(program::{program}));
        }}
        mod program {{"
    )
}

/// Name and source of every program.
fn programs() -> Vec<(String, String, Option<String>)> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(workspace().join("examples/src/bin")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        programs.push((name, read(&path), None));
    }
    assert!(programs.len() >= 9);
    for (name, program) in GALLERY {
        let source = read(&workspace().join(format!("tests/gallery/{name}.rs")));
        let name = format!("gallery_{name}");
        let main = main_of(&name, program);
        programs.push((name, source, Some(main)));
    }
    programs.sort();
    programs
}

/// What a program said when it failed: the kind of failure and what follows the headline, without
/// places, and the value to replay.
struct Story {
    headline: String,
    replay: Option<String>,
}

struct Programs {
    folder: PathBuf,
    newcomer: Newcomer,
}

impl Programs {
    fn run(&self, program: &str, replay: Option<&str>) -> Story {
        let path = builds().join("newcomer-target/debug").join(program);
        let mut command = self.newcomer.command(path);
        command
            .env("RADDLE_DIR", &self.folder)
            .env("RADDLE_WATCHDOG", "2s")
            .envs(replay.map(|replay| ("RADDLE_REPLAY", replay)));
        let finished = finish(&mut command);
        let said = finished.stdout + &finished.stderr;
        let mut lines = said.lines();
        let is_headline = |line: &&str| line.contains(" after ") && line.ends_with(')');
        let headline = lines.find(|line| !line.starts_with(' ') && is_headline(line));
        let headline = headline.unwrap_or_else(|| panic!("{program} did not fail:\n{said}"));
        let replay = lines.find_map(|line| line.trim().strip_prefix("replay: RADDLE_REPLAY="));
        Story {
            headline: headline.to_owned(),
            replay: replay.map(|line| line.split(' ').next().unwrap().to_owned()),
        }
    }

    /// The schedule that a program saved, and its file.
    fn saved(&self, program: &str) -> (PathBuf, raddle::Schedule) {
        let folder = std::fs::read_dir(self.folder.join(program)).unwrap();
        let files = folder.map(|entry| entry.unwrap().path());
        // Beside it is the page.
        let is_schedule = |path: &PathBuf| path.extension().is_some_and(|it| it == "schedule");
        let files: Vec<_> = files.filter(is_schedule).collect();
        assert_eq!(files.len(), 1, "{program}: {files:?}");
        let text = std::fs::read_to_string(&files[0]).unwrap();
        (files[0].clone(), text.parse().unwrap())
    }
}

#[test]
fn every_failure_of_the_examples_and_the_gallery_makes_the_round_trip() {
    let newcomer = Newcomer::new("round_trips", "round_trips");
    let programs = programs();
    for (name, source, main) in &programs {
        let closed = |source: String| match main {
            Some(main) => format!("{main}\n{source}}}\n"),
            None => source,
        };
        let file = |name: &str| format!("src/bin/{name}.rs");
        newcomer.write(&file(name), &closed(source.clone()));
        newcomer.write(&file(&format!("{name}_edited")), &closed(edited(source)));
    }
    newcomer.cargo("build").exits(0);
    let folder = builds().join("newcomer/round_trips/saved");
    let programs_built = Programs { folder, newcomer };
    let run = |program: &str, replay: Option<&str>| programs_built.run(program, replay);
    for (name, ..) in &programs {
        let found = run(name, None);
        let (kind, _) = found.headline.split_once(" after ").unwrap();
        let again = format!("{kind} after 1 execution (replay)");
        let (file, schedule) = programs_built.saved(name);
        let (file, token) = (file.to_str().unwrap(), schedule.to_token());
        let printed = found.replay.expect("what to type is printed");
        assert!(printed == token || printed == file, "{name}: {printed}");
        let edited = format!("{name}_edited");
        for value in [token.as_str(), file] {
            assert_eq!(run(name, Some(value)).headline, again, "{name}");
            assert_eq!(run(&edited, Some(value)).headline, again, "{edited}");
        }
    }
}
