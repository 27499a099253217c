//! Files for monitors have the numbers of the run.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::commands::Machine;
use crate::exact::{FIVE, SLOW};
use crate::programs::dp_alone;
use crate::server::{Kind, Server, directory, on_both_kinds};

/// The values of a file of metrics, by name and labels.
fn metrics(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

fn metrics_and_logs_have_the_numbers_of_the_run(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let directory = directory("metrics");
    let (file, log) = (directory.join("raddle.prom"), directory.join("log"));
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let flags = ["--metrics", &text(&file), "--", "--", "--include-ignored"];
    let test = ["test", "programs::dp5", "--json", "--queue"];
    let front_end = machine.start(&[&test[..], &flags].concat());
    let log_flags = ["--log", &text(&log)];
    let workers = [machine.worker(&log_flags), machine.worker(&log_flags)];
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    for worker in workers {
        assert!(worker.finish().has_worked());
    }
    let found = metrics(&fs::read_to_string(&file).unwrap());
    let search = "{search=\"queue programs::dp5\"}";
    for (name, value) in [
        ("raddle_run".to_owned(), 1.0),
        (format!("raddle_executions_total{search}"), FIVE as f64),
        (format!("raddle_classes{search}"), FIVE as f64),
        (format!("raddle_search_parts{search}"), 0.0),
        (format!("raddle_search_ended{search}"), 1.0),
        (format!("raddle_failures{search}"), 0.0),
    ] {
        assert_eq!(found.get(&name), Some(&value), "{name}: {found:?}");
    }
    let share = found["raddle_utilisation_ratio"];
    assert!(share > 0.0 && share <= 1.0, "{share}");
    // No temporary file is left.
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let accepted = lines.iter().filter(|line| line["accepted"] == true);
    let executions = accepted.map(|line| line["executions"].as_u64().unwrap());
    assert_eq!(executions.sum::<u64>(), FIVE);
    assert!(
        lines
            .iter()
            .all(|line| line["search"] == "queue programs::dp5"),
        "{log}"
    );
    // The run is gone.
    let status = machine.run(&["queue", "status", "--metrics", &text(&file)]);
    assert_eq!((status.code, status.stdout.as_str()), (Some(0), ""));
    assert_eq!(
        metrics(&fs::read_to_string(&file).unwrap()),
        [("raddle_run".to_owned(), 0.0)].into()
    );
}

/// The estimate of a search that goes on, which its front end makes: in the status, in the file for monitors and in the
/// progress. Its interval contains the known number of classes.
fn a_search_that_goes_on_has_an_estimate(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end(SLOW);
    let worker = machine.worker(&["--slice", "20ms"]);
    let json = || -> Value {
        let status = machine.run(&["queue", "status", "--json"]).stdout;
        serde_json::from_str(&status).unwrap_or_default()
    };
    let start = Instant::now();
    let estimate = loop {
        let status = json();
        let search = &status["searches"][0];
        let classes = search["classes"].as_u64().unwrap_or(0);
        if search["estimate"].is_object() {
            assert!(
                classes >= 1_000,
                "a small search is not estimated: {status}"
            );
            break search["estimate"].clone();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{status}");
    };
    let number = |name: &str| estimate[name].as_u64().unwrap();
    assert!(
        (number("low")..=number("high")).contains(&FIVE),
        "{estimate}"
    );
    assert!(number("high") < 2 * FIVE, "{estimate}");
    let status = machine.run(&["queue", "status"]).stdout;
    assert!(status.contains(" classes of about "), "{status}");
    let file = directory("estimate").join("raddle.prom");
    machine.run(&["queue", "status", "--metrics", file.to_str().unwrap()]);
    let name = format!("raddle_estimated_classes{{search=\"queue {SLOW}\"}}");
    let found = metrics(&fs::read_to_string(&file).unwrap());
    assert_eq!(found[&name], number("classes") as f64);
    let front_end = front_end.finish();
    assert_eq!(front_end.classes(), [(SLOW.to_owned(), FIVE)].into());
    // Its runs are no executions of the search.
    assert_eq!(machine.sums(), [(SLOW.to_owned(), dp_alone(5).1)].into());
    let progress = front_end.events("progress");
    let of_about = |event: &&Value| {
        event["text"]
            .as_str()
            .unwrap()
            .contains(" classes of about ")
    };
    assert!(
        progress.iter().any(|event| of_about(&event)),
        "{progress:?}"
    );
    worker.finish();
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let nowhere = directory("nowhere").join("a/b");
    let nowhere = nowhere.to_str().unwrap();
    let status = machine.run(&["queue", "status", "--metrics", nowhere]);
    assert_eq!(status.code, Some(2), "{status:?}");
    assert!(status.stderr.contains(nowhere), "{status:?}");
    let work = machine.run(&["work", "--log", nowhere, "--wait", "100ms"]);
    assert_eq!(work.code, Some(2), "{work:?}");
    assert!(work.stderr.contains(nowhere), "{work:?}");
}

on_both_kinds! {
    a_search_that_goes_on_has_an_estimate
    metrics_and_logs_have_the_numbers_of_the_run
}
