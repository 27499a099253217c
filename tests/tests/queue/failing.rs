//! Failures that workers find are reported once, by the front end, with their schedules.

use std::io::{BufRead, BufReader};

use crate::commands::{Machine, Running};
use crate::programs::{FAILED, now};
use crate::server::{self, Kind, Server};

#[test]
fn a_failure_ends_the_search_and_is_told_as_in_one_process() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let flags = ["--queue", "--", "--", "--include-ignored"];
    let arguments = [&["test", "programs::deadlock", "--exact"], &flags[..]].concat();
    let front_end = machine.start(&arguments);
    let workers = [machine.worker(&[]), machine.worker(&[])];
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(1), "{front_end:?}");
    let text = &front_end.stdout;
    assert_eq!(
        text.matches("deadlock after 2 executions (exhaustive)")
            .count(),
        1,
        "{text}"
    );
    for part in [
        "FAIL  queue programs::deadlock",
        "(exhaustive",
        "replay:",
        "why:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for worker in workers {
        assert!(worker.finish().has_worked());
    }
    let status = machine.run(&["queue", "status"]);
    assert_eq!(status.stdout, "no run\n");
}

#[test]
fn with_keep_going_every_failure_is_reported_once_and_every_class_is_run() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::several_failures");
    let workers = [(); 2].map(|()| machine.worker(&["--slice", "5ms"]));
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(1), "{front_end:?}");
    let failures = front_end.events("failure");
    let message = |failure: &serde_json::Value| {
        let message = failure["failure"]["message"].as_str().unwrap();
        message.lines().last().unwrap().to_owned()
    };
    let mut messages: Vec<String> = failures.iter().map(message).collect();
    messages.sort();
    assert_eq!(messages, ["the value is one", "the value is three"]);
    let finished = &front_end.events("finished")[0];
    assert_eq!(finished["guarantee"], "Exhaustive");
    assert_eq!(finished["classes"], 4 * 624);
    assert_eq!(front_end.events("found").len(), 2, "as they come");
    workers
        .into_iter()
        .for_each(|worker| assert!(worker.finish().has_worked()));
}

#[test]
fn a_failure_that_ends_the_process_is_a_failure() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::hangs");
    let worker = machine.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(1), "{front_end:?}");
    let failures = front_end.events("failure");
    assert_eq!(failures.len(), 1, "{front_end:?}");
    assert_eq!(failures[0]["failure"]["kind"], "Hang", "{front_end:?}");
    worker.finish();
}

#[test]
fn a_process_that_ends_without_a_word_is_no_pass() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::aborts");
    let worker = machine.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(2), "{front_end:?}");
    let problem = "a part of the search of queue programs::aborts could not be explored: its process \
                   ended with signal: 6";
    assert!(front_end.stderr.contains(problem), "{front_end:?}");
    // The run stays, for a look at it.
    let status = machine.run(&["queue", "status"]).stdout;
    assert!(status.contains("a part could not be explored"), "{status}");
    machine.run(&["queue", "clear"]);
    let worker = worker.finish();
    assert_eq!(
        worker.stderr.matches("ended with signal: 6").count(),
        3,
        "{worker:?}"
    );
}

#[test]
fn the_second_check_of_a_test_follows_the_first() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::two_checks");
    let workers = [(); 2].map(|()| machine.worker(&["--slice", "5ms"]));
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let classes = |event: &serde_json::Value| event["classes"].as_u64().unwrap();
    let finished: Vec<u64> = front_end.events("finished").iter().map(classes).collect();
    assert_eq!(finished, [30, 624]);
    workers
        .into_iter()
        .for_each(|worker| assert!(worker.finish().has_worked()));
}

/// By hand: `cargo test-queue -- --ignored --nocapture delay_of`.
#[test]
#[ignore = "a measurement"]
fn delay_of_a_failure_in_slices() {
    for kind in [Kind::Redis, Kind::Postgres] {
        for slice in [50, 200, 1_000] {
            let Some(server) = Server::of(kind) else {
                continue;
            };
            let machine = Machine::new(&server.address());
            let failed = server::directory("failed").join("time");
            let slice_flag = format!("{slice}ms");
            let mut worker = machine.command(&["work", "--jobs", "1", "--slice", &slice_flag]);
            let worker = Running::of(worker.env(FAILED, &failed).spawn().unwrap());
            let test = ["test", "programs::fails_at_a_time", "--json", "--queue"];
            let arguments = [&test[..], &["--", "--", "--include-ignored"]].concat();
            let mut front_end = machine.command(&arguments).spawn().unwrap();
            let lines = BufReader::new(front_end.stdout.take().unwrap()).lines();
            let mut found = Vec::new();
            for line in lines.map_while(Result::ok) {
                if line.contains("\"event\":\"found\"") {
                    found.push(now());
                }
            }
            let problems = std::io::read_to_string(front_end.stderr.take().unwrap());
            assert_eq!(found.len(), 1, "it is told once: {problems:?}");
            let failed: u128 = std::fs::read_to_string(&failed).unwrap().parse().unwrap();
            let delay = found[0] - failed;
            println!(
                "{kind:?}, slices of {slice} ms: {delay} ms, {:.1} slices",
                delay as f64 / f64::from(slice)
            );
            front_end.wait().unwrap();
            worker.finish();
        }
    }
}
