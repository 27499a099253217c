//! Pages of checks on disk: who has one, where it is, and what becomes of it.

use std::path::{Path, PathBuf};
use std::process::Output;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Report};
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;
use serde_json::Value;

fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = counter.clone();
    let thread = raddle::thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// A folder for one test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("pages_on_disk")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn data(page: &Path) -> Value {
    let json = std::fs::read_to_string(page.with_file_name("report.json")).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn every_check_of_a_run_has_a_page_and_the_run_has_one_too() {
    let run = folder("run");
    let fails = Checker::new()
        .named("fails")
        .report_in(&run)
        .run(lost_update);
    let passes = Checker::new()
        .named("a b::passes")
        .report_in(&run)
        .run(|| {});
    assert_eq!(files(&run), ["index.html", "suite"]);
    assert_eq!(files(&run.join("suite")), ["a b.passes", "fails"]);
    let page = run.join("suite/fails/index.html");
    assert_eq!(fails.failures[0].page.as_deref(), page.to_str());
    assert!(
        fails.failures[0]
            .to_string()
            .ends_with(&format!("\n  report: {}\n", page.display()))
    );
    let failed = data(&page);
    assert_eq!(failed["summary"]["failures"], serde_json::json!(["panic"]));
    assert_eq!(failed["report"]["executions"], fails.executions);
    assert_eq!(failed["stories"][0], fails.failures[0].to_string());
    let passed = data(&run.join("suite/a b.passes/index.html"));
    assert_eq!(passed["summary"]["test"], "a b::passes");
    assert_eq!(passed["summary"]["headline"], passes.summary().to_string());
    let index = std::fs::read_to_string(run.join("index.html")).unwrap();
    assert!(
        index.contains("suite/a%20b.passes/index.html") && index.contains("suite/fails/index.html")
    );
}

#[test]
fn branches_are_in_the_data_and_in_a_graph_beside_the_page() {
    let run = folder("branches");
    let checker = Checker::new().named("branches").report_in(&run);
    let report = checker.branches(true).run(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = flag.clone();
        let thread = raddle::thread::spawn(move || other.store(1, SeqCst));
        if flag.load(SeqCst) == 0 {
            flag.fetch_add(1, SeqCst);
        }
        thread.join().unwrap();
    });
    assert_eq!(report.branches().branches.len(), 1, "{}", report.branches());
    let page = run.join("suite/branches");
    assert_eq!(files(&page), ["branches.dot", "index.html", "report.json"]);
    let branch = &data(&page.join("index.html"))["report"]["branches"]["branches"][0];
    assert_eq!(branch["after"]["what"], "load flag");
    assert_eq!(branch["outcomes"].as_array().unwrap().len(), 2);
    let sources = &branch["graphs"][0]["choice"]["sources"];
    assert_eq!(sources[0][0]["send"], Value::Null);
    assert_eq!(sources[1][0]["send"]["what"], "store flag");
    let dot = std::fs::read_to_string(page.join("branches.dot")).unwrap();
    assert!(dot.starts_with("digraph branches {"));
    // A receive, its two sources and their outcomes.
    assert_eq!(dot.matches("shape=ellipse").count(), 1);
    assert_eq!(dot.matches("shape=box").count(), 2);
    assert_eq!(dot.matches(" -> n").count(), 2);
}

#[test]
fn the_page_of_a_long_execution_that_fails_has_some_of_its_steps() {
    let run = folder("fails_long");
    let report = Checker::new()
        .strategy(raddle::Strategy::Random)
        .named("fails_long")
        .report_in(&run)
        .run(|| {
            let counter = AtomicU32::new(0);
            for _ in 0..30_000 {
                counter.fetch_add(1, SeqCst);
            }
            assert_eq!(counter.load(SeqCst), 0);
        });
    let steps = report.failures[0].trace.steps.len();
    assert!(steps > 30_000, "{steps}");
    let failure = &data(&run.join("suite/fails_long/index.html"))["report"]["failures"][0];
    let listed = failure["trace"]["steps"].as_array().unwrap();
    assert_eq!(listed.len(), 20_000);
    let note = format!(
        "the execution has {},{:03} steps: this page lists the first 20,000, and the story its end",
        steps / 1_000,
        steps % 1_000
    );
    let notes = failure["notes"].as_array().unwrap();
    assert!(notes.contains(&note.into()), "{notes:?}");
}

#[test]
fn the_page_of_an_execution_that_is_too_long_is_small() {
    let run = folder("long");
    let report = Checker::new()
        .strategy(raddle::Strategy::Random)
        .max_events(100_000)
        .named("long")
        .report_in(&run)
        .run(|| {
            let counter = AtomicU32::new(0);
            while counter.fetch_add(1, SeqCst) < u32::MAX {
                raddle::thread::yield_now();
            }
        });
    assert_eq!(report.failures[0].schedule.steps.len(), 100_000);
    let page = run.join("suite/long/index.html");
    let size = std::fs::metadata(&page).unwrap().len();
    assert!(size < 600_000, "{size} bytes");
    let notes = &data(&page)["report"]["failures"][0]["notes"];
    let note = "its schedule has 100,000 steps, too many for this page; the command that replays it has them";
    assert!(notes.as_array().unwrap().contains(&note.into()), "{notes}");
    // One round, the fold and another round; the operation that is too many comes last.
    let story = report.failures[0].to_string();
    let rows: Vec<&str> = story.lines().filter(|line| line.contains(" │ ")).collect();
    assert!(rows.len() <= 8, "{story}");
    assert!(
        rows.iter().any(|row| row.contains("more rounds of steps ")),
        "{story}"
    );
}

#[test]
fn a_page_has_the_lines_around_every_step() {
    let run = folder("lines");
    let report = Checker::new()
        .named("lines")
        .report_in(&run)
        .run(lost_update);
    let excerpts = &data(&run.join("suite/lines/index.html"))["excerpts"];
    let source =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages.rs"));
    let source = source.unwrap();
    let lines: Vec<&str> = source.lines().collect();
    let steps = &report.failures[0].trace.steps;
    let places: Vec<_> = steps
        .iter()
        .filter_map(|step| step.place.as_ref())
        .collect();
    assert!(places.len() > 5);
    for place in places
        .iter()
        .filter(|place| place.file.ends_with("pages.rs"))
    {
        for line in place.line - 4..=place.line + 4 {
            assert_eq!(
                excerpts[&place.file][line.to_string()],
                lines[line as usize - 1]
            );
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_page_and_nothing_else() {
    let run = folder("unwritable");
    std::fs::create_dir_all(run.parent().unwrap()).unwrap();
    std::fs::write(&run, "a file").unwrap();
    let report = Checker::new()
        .named("unwritable")
        .report_in(&run)
        .run(lost_update);
    let failure = &report.failures[0];
    assert_eq!(failure.page, None);
    assert!(failure.message.contains("an update was lost"));
    let expected = format!(
        "the page could not be written to {:?}: ",
        run.join("suite/unwritable")
    );
    assert!(
        failure.notes[0].starts_with(&expected),
        "{:?}",
        failure.notes
    );
    assert!(failure.replay.is_some());
    std::fs::remove_file(&run).unwrap();
}

/// Runs one of the tests below in a process of its own.
fn child(test: &str, folder: &Path, environment: &[(&str, &str)]) -> Output {
    let mut command = ignored_test(&test_name!(test));
    command
        .arg("--nocapture")
        .env("RADDLE_DIR", folder)
        .envs(environment.iter().copied());
    command.output().unwrap()
}

#[raddle::test]
#[ignore = "run by others"]
fn loses_an_update() {
    if std::env::var_os("RADDLE_TEST_FIXED").is_none() {
        lost_update();
    }
}

#[test]
#[ignore = "run by others"]
fn fails_often() {
    let run = |checker: Checker| -> Report { checker.run(lost_update) };
    let pages = (0..10).map(|_| run(Checker::new()).failures[0].page.is_some());
    assert_eq!(pages.filter(|&page| page).count(), 8);
    assert_eq!(
        run(Checker::new().named("not wanted").page(false)).failures[0].page,
        None
    );
    let mut several = Checker::new().named("several").keep_going(true).run(|| {
        assert_ne!(raddle::choose(0..3), 1, "the one");
        lost_update();
    });
    let pages = several
        .failures
        .drain(..)
        .map(|failure| failure.page.unwrap());
    let pages: Vec<String> = pages.collect();
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[1], format!("{}#failure-2", pages[0]));
}

#[test]
fn a_failure_has_a_page_beside_its_schedule_until_it_is_gone() {
    let folder = folder("beside");
    let program = folder.join("suite");
    let failed = child("loses_an_update", &folder, &[]);
    assert!(!failed.status.success());
    assert_eq!(
        files(&program),
        ["pages.loses_an_update", "pages.loses_an_update.schedule"]
    );
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    let page = program.join("pages.loses_an_update/index.html");
    assert!(
        said.contains(&format!("\n  report: {}\n", page.display())),
        "{said}"
    );
    assert!(page.is_file());
    assert!(
        child("loses_an_update", &folder, &[("RADDLE_TEST_FIXED", "1")])
            .status
            .success()
    );
    assert_eq!(files(&program), [""; 0], "neither is left");
}

#[test]
fn a_run_with_a_folder_in_the_environment_writes_there_only() {
    let (folder, run) = (folder("environment"), folder("environment_run"));
    let failed = child(
        "loses_an_update",
        &folder,
        &[("RADDLE_REPORT", run.to_str().unwrap())],
    );
    assert!(!failed.status.success());
    assert_eq!(
        files(&run.join("suite/pages.loses_an_update")),
        ["index.html", "report.json"]
    );
    assert_eq!(
        files(&folder.join("suite")),
        ["pages.loses_an_update.schedule"]
    );
}

#[test]
fn only_the_first_checks_of_a_test_have_pages_unasked() {
    let folder = folder("often");
    let ran = child("fails_often", &folder, &[]);
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let pages = files(&folder.join("suite"));
    let pages: Vec<_> = pages
        .iter()
        .filter(|name| !name.ends_with(".schedule"))
        .collect();
    assert_eq!(pages.len(), 9, "{pages:?}");
}
