//! Crates that know nothing of raddle, as they are: what is found in each of their tests, and at which line.
//!
//! Each crate of `tests/native-rust/` has code that is right and the same with a bug. Every test is listed, so
//! a false alarm is noticed as well as a bug that is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use crate::rust_expected::Found::{self, Failure, Nothing, NothingSoFar};
use crate::rust_expected::{EXPECTED, panic};
use crate::rust_tests::{Checked, Tests, crates, replay, test, test_with};
use crate::support::folder;

/// All tests but those that have twins, rayon's and clients of locks, run once, with a model of parking_lot.
static TESTS: LazyLock<Tests> = LazyLock::new(|| {
    let budget = [
        "--max-executions",
        "500",
        "--budget",
        "10m",
        "--model",
        "parking_lot",
    ];
    let all = ["--", "--workspace"];
    let but = ["twins", "parallel-sum", "lock-clients"];
    let but = but.map(|package| ["--exclude", package]).concat();
    test(&[&budget[..], &all, &but].concat())
});

/// The lines that a failure marks, without the spaces before and behind them.
fn marked(package: &str, failure: &Value) -> BTreeSet<String> {
    let file = crates().join(package).join("src/lib.rs");
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut marked = BTreeSet::new();
    for mark in failure["marks"].as_array().unwrap() {
        let place = &mark["place"];
        let file = place["file"].as_str().unwrap();
        // Others are named by where they are in the registry.
        if !file.starts_with('/') && file.ends_with("src/lib.rs") {
            let line = place["line"].as_u64().unwrap() as usize;
            marked.insert(lines[line - 1].to_owned());
        }
    }
    marked
}

/// What is different from what is to be found, if anything is.
fn difference(package: &str, expected: &Found, checked: &Checked) -> Option<String> {
    let warned = checked.warnings.iter().map(|warning| &warning["kind"]);
    let warned: Vec<_> = warned.filter(|kind| *kind != "LockOrder").collect();
    let found = match checked.failures.as_slice() {
        [] => None,
        [failure] => Some((failure["kind"].as_str().unwrap(), marked(package, failure))),
        several => return Some(format!("{} failures", several.len())),
    };
    let passed = checked.outcome == "passed" && warned.is_empty();
    let is_right = match (expected, &found) {
        (Nothing, None) => passed && checked.finished["exhausted"] == true,
        (NothingSoFar, None) => passed,
        (Failure(kind, line), Some((found, lines))) => {
            kind == found && line.is_none_or(|line| lines.contains(line))
        }
        _ => false,
    };
    let Checked {
        outcome,
        finished,
        output,
        ..
    } = checked;
    let summary = &finished["summary"];
    (!is_right).then(|| format!("{outcome}, {found:?}, {warned:?}, {summary}, {output}"))
}

#[test]
fn each_test_of_each_crate_has_its_failure_or_none() {
    let mut listed = BTreeSet::new();
    let mut differences = Vec::new();
    for (package, tests) in EXPECTED {
        for (name, expected) in *tests {
            let key = (package.replace('-', "_"), format!("tests::{name}"));
            let difference = match TESTS.get(&key) {
                Some(checked) => difference(package, expected, checked),
                None => Some("not run".to_owned()),
            };
            differences.extend(difference.map(|text| format!("{package} {name}: {text}")));
            listed.insert(key);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // Each outcome of `polls` is a test of its own, which `rust_litmus` compares with library mode.
    let run = TESTS.keys().filter(|(package, _)| package != "polls");
    let run: BTreeSet<_> = run.cloned().collect();
    assert_eq!(run, listed);
}

/// Optimised, with the code of dependencies, crates have the findings and the classes that they have otherwise:
/// `compare_exchange_weak` fails spuriously, `fetch_max` is an operation, and counts of handles are asked for.
#[test]
fn optimised_crates_have_the_classes_of_others() {
    let packages = ["hit-counter", "job-queue", "shared-handles"];
    let names = packages.map(|package| ["-p", package]).concat();
    let release = [&["--budget", "10m", "--", "--release"], &names[..]].concat();
    let tests = test(&release);
    let mut differences = Vec::new();
    for (package, expected) in EXPECTED.iter().filter(|it| packages.contains(&it.0)) {
        for (name, expected) in *expected {
            let key = (package.replace('-', "_"), format!("tests::{name}"));
            let optimised = &tests[&key];
            let difference = difference(package, expected, optimised);
            differences.extend(difference.map(|text| format!("{package} {name}: {text}")));
            // Rounds of a loop that waits may look different in optimised code.
            if matches!(expected, Nothing) && *package != "job-queue" {
                let classes = |checked: &Checked| checked.finished["classes"].as_u64();
                let [plain, found] = [&TESTS[&key], optimised].map(classes);
                assert_eq!(plain, found, "{package} {name}");
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Each of two may be the one who drops the last handle, whatever else it drops. A ticket and a session that the
/// two let go in opposite orders have their last handles with the one, with the other, or with one each, but not
/// the other way round.
#[test]
fn either_of_two_drops_the_last_handle() {
    let find = |name: &str| &TESTS[&("shared_handles".to_owned(), format!("tests::{name}"))];
    assert_eq!(find("the_last_one_closes_what_is_inside").all_classes(), 2);
    assert_eq!(
        find("the_last_one_closes_whoever_leaves_first").all_classes(),
        3
    );
}

/// Without a model the crate's own code runs. Its tests pass and fail as with the model, at its own lines.
#[test]
fn without_a_model_the_code_of_parking_lot_is_checked() {
    let flags = [
        "--budget",
        "10m",
        "--max-executions",
        "300",
        "--",
        "-p",
        "same-locks",
        "-p",
        "connection-pool",
    ];
    let tests = test(&flags);
    assert_eq!(tests.len(), 15);
    for ((binary, name), checked) in &tests {
        let model = &TESTS[&(binary.clone(), name.clone())];
        assert_eq!(model.outcome, checked.outcome, "{name}: {checked:#?}");
        assert_eq!(
            model.finished["modelled"],
            serde_json::json!(["parking_lot"])
        );
        let summary = model.finished["summary"].as_str().unwrap();
        assert!(
            summary.contains(", with a model in place of parking_lot ("),
            "{summary}"
        );
        assert_eq!(
            checked.finished["modelled"],
            serde_json::json!([]),
            "{name}"
        );
        let summary = checked.finished["summary"].as_str().unwrap();
        assert!(!summary.contains("model"), "{summary}");
        for failure in &checked.failures {
            assert_eq!(failure["kind"], "Deadlock", "{name}: {failure:#?}");
            let message = failure["message"].as_str().unwrap();
            assert!(message.contains("/parking_lot_core-"), "{name}: {message}");
        }
    }
    let classes = |checked: &Checked| checked.finished["classes"].as_u64();
    let name = (
        "same_locks".to_owned(),
        "tests::with_parking_lot::three_lock".to_owned(),
    );
    assert!(classes(&tests[&name]) > classes(&TESTS[&name]));
}

/// Runs clients of locks with these options: the results by name, and the folder with the outcomes of each.
fn clients(of: &str, options: &[&str]) -> (BTreeMap<String, Checked>, PathBuf) {
    let folder = folder("lock-clients").join(of);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let all = [&["--budget", "10m", "-p", "lock-clients"], options].concat();
    let tests = test_with(&all, &[("LOCK_CLIENTS", folder.to_str().unwrap())]);
    let tests = tests.into_iter().map(|((_, name), test)| (name, test));
    (tests.collect(), folder)
}

/// What the threads of a client observed, each once. Executions that fail have no outcome.
fn outcomes(folder: &Path, client: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder.join(client.replace("::", "-")));
    let text = text.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// `tests/real/parking_lot.sh` runs all behaviours of more clients, for several versions.
#[test]
fn small_clients_see_the_same_with_the_model_and_with_the_code_of_parking_lot() {
    for (name, expected) in [
        // Before, after, or while the other has the lock; in each case either of the two.
        ("two_by_one::tt", 4),
        ("two_by_one::uu", 4),
        // Readers see nothing, since there is no writer.
        ("two_by_one::qq", 1),
    ] {
        let all = ["--strategy", "exhaustive", name, "--exact"];
        let [model, code] = [&["--model", "parking_lot"][..], &[]].map(|options| {
            let (tests, folder) = clients("one", &[&all, options].concat());
            assert_eq!(tests.len(), 1);
            tests[name].all_classes();
            outcomes(&folder, name)
        });
        assert_eq!(model, code, "{name}");
        assert_eq!(model.len(), expected, "{name}: {model:?}");
    }
}

/// Every behaviour of the model, and some of the code: nothing is seen, and no thread is stuck, but as in the model.
#[test]
fn clients_of_the_code_of_parking_lot_see_what_those_of_the_model_see() {
    let model = [
        "--model",
        "parking_lot",
        "--strategy",
        "exhaustive",
        "--max-executions",
        "20000",
        "--keep-going",
    ];
    let code = [
        "--strategy",
        "random",
        "--max-executions",
        "300",
        "--keep-going",
    ];
    let (model, of_model) = clients("model", &model);
    let (code, of_code) = clients("code", &code);
    let (mut compared, mut stuck, mut seen, mut of_all) = (0, 0, 0, 0);
    for (name, model) in &model {
        if model.finished["exhausted"] != true {
            continue;
        }
        compared += 1;
        let code = &code[name];
        let kinds = |checked: &Checked| -> BTreeSet<String> {
            let kinds = checked.failures.iter().map(|failure| &failure["kind"]);
            kinds
                .map(|kind| kind.as_str().unwrap().to_owned())
                .collect()
        };
        // A notification that the code has lost may be one that the model does not wait for.
        for kind in kinds(code) {
            let is_stuck = ["Deadlock", "LostWakeup"].contains(&kind.as_str());
            assert!(is_stuck, "{name}: {code:#?}");
            assert!(!kinds(model).is_empty(), "{name}: {code:#?}");
            stuck += 1;
        }
        let [model, code] = [&of_model, &of_code].map(|folder| outcomes(folder, name));
        let invented: Vec<_> = code.difference(&model).collect();
        assert!(
            invented.is_empty(),
            "{name}: {invented:?}, not in {model:?}"
        );
        seen += code.len();
        of_all += model.len();
    }
    println!("{compared} clients: {seen} of {of_all} outcomes, {stuck} stuck");
    assert!(compared >= 50, "{compared}");
    // A comparison with little would show nothing.
    assert!(
        seen * 2 >= of_all && stuck > 0,
        "{seen} of {of_all}, {stuck}"
    );
}

/// The locks of parking_lot are locks in the model, and not the atomics that they are made of.
#[test]
fn parking_lot_has_the_classes_of_std() {
    let find = |of: &str, name: &str| {
        let test = ("same_locks".to_owned(), format!("tests::{of}::{name}"));
        TESTS[&test].all_classes()
    };
    for name in [
        "three_lock",
        "one_tries",
        "two_read_and_one_writes",
        "one_tries_to_read_and_one_to_write",
    ] {
        assert_eq!(find("with_parking_lot", name), find("with_std", name));
    }
    // All orders of three; before the other, meanwhile, and after it.
    assert_eq!(find("with_parking_lot", "three_lock"), 6);
    assert_eq!(find("with_parking_lot", "one_tries"), 3);
}

/// Any thread may have the last handle of rayon's pool, and drops it then.
#[test]
fn the_threads_of_rayon_are_searched() {
    let flags = [
        "--strategy",
        "exhaustive",
        "--budget",
        "10m",
        "--max-executions",
        "200",
    ];
    let tests = test(&[&flags[..], &["-p", "parallel-sum", "all_is_summed"]].concat());
    for name in ["all_is_summed", "all_is_summed_in_two_steps"] {
        let checked = &tests[&("parallel_sum".to_owned(), format!("tests::{name}"))];
        assert_eq!(difference("parallel-sum", &NothingSoFar, checked), None);
        assert_eq!(checked.finished["classes"], 200);
    }
}

/// The bug is not among the first that the search comes to, so it is looked for at random.
#[test]
fn the_threads_of_rayon_are_controlled() {
    let flags = [
        "--strategy",
        "random",
        "--budget",
        "10m",
        "--max-executions",
        "600",
    ];
    let tests = test(&[&flags[..], &["-p", "parallel-sum"]].concat());
    let find = |name: &str| &tests[&("parallel_sum".to_owned(), format!("tests::{name}"))];
    let right = find("all_is_summed");
    assert_eq!(difference("parallel-sum", &NothingSoFar, right), None);
    assert_eq!(right.finished["executions"], 600);
    let wrong = find("all_is_summed_in_two_steps");
    let expected = panic("assert_eq!(pool.install(|| sum(&[1, 2])), 3);");
    assert_eq!(difference("parallel-sum", &expected, wrong), None);
}

/// A reader that sees what is written before the odd version, which no order of steps has.
#[test]
fn a_fence_is_missed_in_weak_memory_only() {
    let tests = test(&["--memory", "rc11", "-p", "seqlock"]);
    let find = |name: &str| &tests[&("seqlock".to_owned(), format!("tests::{name}"))];
    let right = find("both_are_of_one_version");
    assert_eq!(difference("seqlock", &Nothing, right), None);
    let wrong = find("both_are_of_one_version_without_fence");
    let expected = panic("assert_eq!(one, other, \"half of it is new\");");
    assert_eq!(difference("seqlock", &expected, wrong), None);
}

/// The numbers of crates, and of crates with a bug.
#[test]
fn there_are_many_crates() {
    let is_failure = |(_, found): &(&str, Found)| matches!(found, Failure(..));
    let buggy = EXPECTED
        .iter()
        .filter(|(_, tests)| tests.iter().any(is_failure));
    assert_eq!((EXPECTED.len(), buggy.count()), (30, 29));
}

#[test]
fn every_saved_schedule_fails_again() {
    let mut differences = Vec::new();
    for (package, tests) in EXPECTED {
        // One of each crate: the others are saved and replayed in the same way.
        let mut failing = tests
            .iter()
            .filter(|(_, found)| matches!(found, Failure(..)));
        let Some((name, _)) = failing.next() else {
            continue;
        };
        let test = format!("tests::{name}");
        let failures = &TESTS[&(package.replace('-', "_"), test.clone())].failures;
        let message = failures[0]["message"].as_str().unwrap();
        let line = failures[0]["replay"].as_str().unwrap();
        let expected = format!("cargo raddle test --native {test} --exact");
        assert!(line.ends_with(&expected), "{line}");
        let (code, said) = replay(package, &test);
        let first = message.lines().next().unwrap();
        if code != Some(1) || !said.contains(first) {
            differences.push(format!(
                "{package} {name}: {code:?}, no {first:?} in:\n{said}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
