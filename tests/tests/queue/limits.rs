//! Limits of searches that processes share hold for the whole search, and `Auto` divides them.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use raddle::Checker;
use raddle_tests::programs::dining;
use serde_json::Value;

use crate::commands::{Finished, Machine};
use crate::programs::AUTO;
use crate::server::{Kind, Server, on_both_kinds};

/// A program with two failures, each in one class of six, whose settings are those of the command.
#[test]
#[ignore = "run by a queue"]
fn fails_in_two_ways() {
    let report = Checker::new().run(|| {
        dining(5);
        let value = raddle::choose(0..6);
        assert!(value != 1, "the value is one");
        assert!(value != 3, "the value is three");
    });
    report.assert_ok();
}

/// Executions that take their time.
#[test]
#[ignore = "run by a queue"]
fn takes_its_time() {
    let report = Checker::new().run(|| {
        thread::sleep(Duration::from_micros(500));
        dining(4);
    });
    report.assert_ok();
}

/// Runs one of these programs with two workers.
fn with_flags(kind: Kind, test: &str, flags: &[&str]) -> Option<Finished> {
    let server = Server::of(kind)?;
    let machine = Machine::new(&server.address());
    let command = ["test", test, "--exact", "--json", "--queue"];
    let last = ["--", "--", "--include-ignored"];
    let front_end = machine.start(&[&command, flags, &last].concat());
    let workers = [(); 2].map(|()| machine.worker(&["--slice", "10ms"]));
    let front_end = front_end.finish();
    for worker in workers {
        assert!(worker.finish().has_worked());
    }
    Some(front_end)
}

/// The last lines of the messages of failures, in order.
fn messages(front_end: &Finished) -> Vec<String> {
    let failures = front_end.events("failure");
    let message = |event: &Value| {
        let failure = &event["failure"];
        assert!(failure["schedule"].as_str().is_some(), "{failure}");
        let message = failure["message"].as_str().unwrap();
        message.lines().last().unwrap().to_owned()
    };
    let mut messages: Vec<String> = failures.iter().map(message).collect();
    messages.sort();
    messages
}

/// The maximum number of runs of the whole check, of every kind of strategy that is shared.
const RUNS: [&str; 2] = ["--max-executions", "3000"];
const STRATEGIES: [&str; 5] = ["exhaustive", "auto", "random", "pct", "coverage"];

fn the_first_failure_ends_every_kind_of_check(kind: Kind) {
    for strategy in STRATEGIES {
        let flags = [&RUNS[..], &["--strategy", strategy]].concat();
        let test = "limits::fails_in_two_ways";
        let Some(front_end) = with_flags(kind, test, &flags) else {
            return;
        };
        assert_eq!(front_end.code, Some(1), "{front_end:?}");
        let messages = messages(&front_end);
        assert_eq!(messages.len(), 1, "{strategy}: {messages:?}");
        let end = &front_end.events("finished")[0];
        assert!(end["executions"].as_u64().unwrap() < 3_000, "{end}");
    }
}

fn every_kind_of_check_goes_on_to_its_limit_and_reports_failures_once(kind: Kind) {
    for strategy in STRATEGIES {
        let flags = [&RUNS[..], &["--keep-going", "--strategy", strategy]].concat();
        let test = "limits::fails_in_two_ways";
        let Some(front_end) = with_flags(kind, test, &flags) else {
            return;
        };
        assert_eq!(front_end.code, Some(1), "{front_end:?}");
        let expected = ["the value is one", "the value is three"];
        assert_eq!(messages(&front_end), expected, "{strategy}");
        assert_eq!(front_end.events("found").len(), 2, "{strategy}");
        let end = &front_end.events("finished")[0];
        assert_eq!(end["executions"], 3_000, "{strategy}: {end}");
    }
}

/// Streams are run to their ends, 64 executions each.
fn the_time_of_streams_is_that_of_the_limit(kind: Kind) {
    for strategy in ["pct", "coverage"] {
        let flags = ["--budget", "1500ms", "--strategy", strategy];
        let test = "limits::takes_its_time";
        let Some(front_end) = with_flags(kind, test, &flags) else {
            return;
        };
        let end = finished(&front_end, test);
        let executions = end["executions"].as_u64().unwrap();
        assert!(
            executions > 0 && executions.is_multiple_of(64),
            "{strategy}: {end}"
        );
        let summary = end["summary"].as_str().unwrap();
        assert!(summary.contains("stopped after 1.5s"), "{summary}");
    }
}

/// The event at the end of the check of a test. The names of other tests may begin with its name.
fn finished(front_end: &Finished, test: &str) -> Value {
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let events = front_end.events("finished");
    let event = events.into_iter().find(|event| event["test"] == test);
    event.unwrap_or_else(|| panic!("{test} has ended: {front_end:?}"))
}

/// Runs one test with this number of workers, one of which is killed.
fn shared(machine: &Machine, test: &str, count: usize) -> Value {
    let front_end = machine.front_end(test);
    let flags = ["--lease", "500ms", "--slice", "5ms"];
    let workers: Vec<_> = (0..count).map(|_| machine.worker(&flags)).collect();
    let killed = machine.worker(&flags);
    thread::sleep(Duration::from_millis(150));
    killed.signal("-KILL");
    let front_end = front_end.finish();
    for worker in workers {
        assert!(worker.finish().has_worked());
    }
    finished(&front_end, test)
}

fn the_runs_of_a_search_are_those_of_its_limit(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    for count in [1, 3] {
        let machine = Machine::new(&server.address());
        let finished = shared(&machine, "programs::limited", count);
        assert_eq!(finished["executions"], 3_001, "{finished}");
        assert_eq!(finished["classes"], 3_001, "no class is run twice");
        assert_eq!(finished["guarantee"], "Sampled");
        let summary = finished["summary"].as_str().unwrap();
        let limit =
            "3001 classes in 3001 runs; stopped at 3001 runs: raise `max_executions` for more";
        assert!(summary.contains(limit), "{summary}");
    }
}

fn the_time_of_a_search_is_that_of_its_limit(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let finished = shared(&machine, "programs::limited_in_time", 2);
    let classes = finished["classes"].as_u64().unwrap();
    assert!((1..19_330).contains(&classes), "{finished}");
    assert_eq!(finished["guarantee"], "Sampled");
    let summary = finished["summary"].as_str().unwrap();
    assert!(
        summary.contains("; stopped after 1.2s: raise `max_time` for more"),
        "{summary}"
    );
}

fn auto_runs_every_class_if_half_of_its_runs_suffice(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let finished = shared(&machine, "programs::auto_small", 2);
    assert_eq!(
        (&finished["guarantee"], &finished["classes"]),
        (&"Exhaustive".into(), &624.into())
    );
    assert_eq!(finished["executions"], 624);
}

/// The second half of the runs are streams of the samplers of `Auto`, which are the same for any number of workers.
fn auto_samples_with_the_other_half(kind: Kind) {
    /// The sum of the fingerprints of the streams, which both kinds of servers have.
    static SUM: OnceLock<u64> = OnceLock::new();
    let Some(server) = Server::of(kind) else {
        return;
    };
    for count in [1, 3] {
        let machine = Machine::new(&server.address());
        let finished = shared(&machine, "programs::auto_large", count);
        assert_eq!(finished["guarantee"], "Sampled");
        let summary = finished["summary"].as_str().unwrap();
        let runs =
            format!(" in {AUTO} runs; stopped at {AUTO} runs: raise `max_executions` for more");
        assert!(summary.contains(&runs), "{summary}");
        // Classes of the search differ from each other, and those of samplers may be among them.
        let found = finished["classes"].as_u64().unwrap();
        let half = AUTO.div_ceil(2);
        assert!((half + 1..AUTO).contains(&found), "{found} classes");
        let sum = machine.sums()["streams"];
        assert!(sum > 0);
        assert_eq!(sum, *SUM.get_or_init(|| sum), "{count} workers");
    }
}

fn auto_divides_the_time(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let finished = shared(&machine, "programs::auto_timed", 2);
    assert_eq!(finished["guarantee"], "Sampled");
    let summary = finished["summary"].as_str().unwrap();
    assert!(
        summary.contains("; stopped after 1.6s: raise `max_time` for more"),
        "{summary}"
    );
    // Classes repeat only among samplers.
    let number = |name: &str| finished[name].as_u64().unwrap();
    assert!(
        number("classes") > 0 && number("classes") <= number("executions"),
        "{finished}"
    );
}

on_both_kinds! {
    the_runs_of_a_search_are_those_of_its_limit
    the_time_of_a_search_is_that_of_its_limit
    auto_runs_every_class_if_half_of_its_runs_suffice
    auto_samples_with_the_other_half
    auto_divides_the_time
    the_first_failure_ends_every_kind_of_check
    every_kind_of_check_goes_on_to_its_limit_and_reports_failures_once
    the_time_of_streams_is_that_of_the_limit
}
