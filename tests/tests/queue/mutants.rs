//! Changes of operations that workers judge: the judgements are those of one process.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;

use crate::commands::{Finished, Machine, Running};
use crate::refusals::{another_build, assert_refused};
use crate::server::{Kind, Server, on_both_kinds};

/// The arguments that select the tests.
const TESTS: [&str; 7] = [
    "mutants",
    "programs::mutated",
    "--in-tests",
    "--json",
    "--",
    "--",
    "--include-ignored",
];

/// A machine with the source of the tests, of which the front end looks at the place only.
fn machine(address: &str) -> Machine {
    let machine = Machine::new(address);
    let source = machine.path("tests/tests/queue/programs.rs");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(source, "").unwrap();
    machine
}

fn front_end(machine: &Machine, flags: &[&str]) -> Running {
    machine.start(&[&TESTS[..4], &["--queue"], flags, &TESTS[4..]].concat())
}

/// The results by change. No change has two.
fn results(finished: &Finished) -> BTreeMap<String, Value> {
    let lines = finished.stdout.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = lines.len();
    let by_change = lines
        .into_iter()
        .map(|line| (line["mutant"].as_str().unwrap().to_owned(), line));
    let by_change: BTreeMap<_, _> = by_change.collect();
    assert_eq!(
        by_change.len(),
        count,
        "a change was counted twice: {finished:?}"
    );
    by_change
}

/// The summary without the time.
fn summary(finished: &Finished) -> &str {
    let line = finished
        .stderr
        .lines()
        .find(|line| line.contains(" noticed, "));
    line.and_then(|line| line.rsplit_once(" in "))
        .expect("there is a summary")
        .0
}

fn judgements_are_those_of_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let alone = machine("redis://127.0.0.1:1").run(&TESTS);
    let expected = results(&alone);
    // Some changes are noticed and some are not.
    let outcome = |wanted: &str| {
        expected
            .values()
            .filter(|it| it["outcome"] == wanted)
            .count()
    };
    assert!(
        outcome("noticed") >= 2 && outcome("not noticed") >= 2,
        "{alone:?}"
    );
    assert_eq!(alone.code, Some(1), "{alone:?}");
    for count in [1, 2, 4] {
        let machine = machine(&server.address());
        let front_end = front_end(&machine, &[]);
        let workers: Vec<_> = (0..count).map(|_| machine.worker(&[])).collect();
        let front_end = front_end.finish();
        assert_eq!(results(&front_end), expected, "{count} workers");
        assert_eq!(front_end.code, alone.code);
        assert_eq!(summary(&front_end), summary(&alone));
        for worker in workers {
            assert!(worker.finish().has_worked());
        }
        assert_eq!(machine.run(&["queue", "status"]).stdout, "no run\n");
    }
    // Half of them.
    let half = [&TESTS[..4], &["--shard", "1/2"], &TESTS[4..]].concat();
    let half = results(&machine("redis://127.0.0.1:1").run(&half));
    let machine = machine(&server.address());
    let front_end = front_end(&machine, &["--shard", "1/2"]);
    let worker = machine.worker(&[]);
    assert_eq!(results(&front_end.finish()), half);
    assert!(half.len() < expected.len());
    worker.finish();
}

fn killed_workers_lose_no_change(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let expected = results(&machine("redis://127.0.0.1:1").run(&TESTS));
    let machine = machine(&server.address());
    let mut front_end = front_end(&machine, &[]);
    let flags = ["--lease", "200ms"];
    let mut rng = Rng::with_seed(5);
    let mut workers = [machine.worker(&flags), machine.worker(&flags)];
    let mut killed = 0;
    while !front_end.has_ended() && killed < 10 {
        thread::sleep(Duration::from_millis(rng.u64(40..100)));
        let at = rng.usize(..workers.len());
        match killed % 3 {
            // Its lease expires while it goes on: its judgement comes too late.
            1 => {
                workers[at].signal("-STOP");
                thread::sleep(Duration::from_millis(300));
                workers[at].signal("-CONT");
            }
            _ => {
                workers[at].signal("-KILL");
                workers[at] = machine.worker(&flags);
            }
        }
        killed += 1;
    }
    let front_end = front_end.finish();
    assert!(killed >= 2, "only {killed} were disturbed");
    assert_eq!(results(&front_end), expected, "{front_end:?}");
}

#[test]
fn another_build_judges_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let here = machine(&server.address());
    let front_end = front_end(&here, &[]);
    let other = Machine::with_binary(&server.address(), &another_build());
    let reason = "a search of mutants all that is not this one: `binary queue` is ";
    assert_refused(&other.worker(&[]).finish(), reason);
    let mut command = here.command(&["work", "--jobs", "1", "--wait", "20s"]);
    command.env("RADDLE_MAX_EVENTS", "1000");
    let reason = "`RADDLE_MAX_EVENTS` is missing in the queue, and 1000 here";
    assert_refused(&here.run_command(command), reason);
    let worker = here.worker(&[]);
    assert!(!results(&front_end.finish()).is_empty());
    worker.finish();
}

/// Ctrl-C of the front end leaves the judgements in the queue, and the same command goes on.
#[test]
fn an_interrupted_front_end_is_resumed() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = machine(&server.address());
    let first = front_end(&machine, &[]);
    let worker = machine.worker(&[]);
    let has_some = || {
        machine
            .run(&["queue", "status"])
            .stdout
            .contains("mutants all: ")
    };
    while !has_some() {
        thread::sleep(Duration::from_millis(20));
    }
    first.signal("-INT");
    assert_eq!(first.finish().code, Some(130));
    let second = front_end(&machine, &[]).finish();
    let alone = self::machine("redis://127.0.0.1:1").run(&TESTS);
    assert_eq!(results(&second), results(&alone));
    worker.finish();
}

on_both_kinds! {
    judgements_are_those_of_one_process
    killed_workers_lose_no_change
}
