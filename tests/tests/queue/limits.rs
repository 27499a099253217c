//! Limits of searches that processes share hold for the whole search, and `Auto` divides them.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::commands::{Finished, Machine};
use crate::programs::AUTO;
use crate::server::{Kind, Server, on_both_kinds};

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
}
