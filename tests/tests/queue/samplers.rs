//! Sampling checks that processes share: their executions are those of one process that runs the same streams.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use raddle::{Checker, Strategy};
use raddle_tests::programs::dining;

use crate::commands::{Finished, Machine, Running};
use crate::programs::{SAMPLED, SAMPLERS, SEED, many, sampling};
use crate::server::{Kind, Server, on_both_kinds};

/// The seed of a stream, as the settings page has it.
fn stream_seed(seed: u64, stream: u64) -> u64 {
    if stream == 0 {
        return seed;
    }
    let mut mixed = seed.rotate_left(32) ^ stream;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ mixed >> 33).wrapping_mul(factor);
    }
    mixed ^ mixed >> 33
}

/// Executions, classes and the sum of fingerprints.
#[derive(Debug, PartialEq, Eq)]
pub struct Sampled {
    executions: u64,
    classes: u64,
    pub sum: u64,
}

/// Runs the streams one after the other in this process, each as a check.
pub fn alone(
    checker: &Checker,
    seed: u64,
    executions: u64,
    body: impl Fn() + Send + Sync,
) -> Sampled {
    let length = (executions / 64).clamp(64, 256);
    let (mut classes, mut sum, mut count) = (BTreeSet::new(), 0, 0);
    for stream in 0..executions.div_ceil(length) {
        let checker = checker
            .clone()
            .seed(stream_seed(seed, stream))
            .max_executions(length.min(executions - stream * length));
        let report = raddle::__private::run_observed(checker, &body, &mut |execution| {
            classes.insert(execution.fingerprint());
            sum += execution.fingerprint() >> 32;
        });
        count += report.executions;
    }
    Sampled {
        executions: count,
        classes: classes.len() as u64,
        sum,
    }
}

/// The results of a front end, by test.
fn shared(front_end: &Finished, machine: &Machine) -> BTreeMap<String, Sampled> {
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let sums = machine.sums();
    let result = |event: &serde_json::Value| {
        let test = event["test"].as_str().unwrap().to_owned();
        assert_eq!(event["guarantee"], "Sampled");
        let number = |name: &str| event[name].as_u64().unwrap();
        let sampled = Sampled {
            executions: number("executions"),
            classes: number("classes"),
            sum: sums[&test],
        };
        (test, sampled)
    };
    front_end.events("finished").iter().map(result).collect()
}

fn every_sampler_has_the_executions_of_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let expected: BTreeMap<String, Sampled> = SAMPLERS
        .iter()
        .map(|(name, strategy)| {
            let checker = sampling(strategy.clone());
            let test = format!("programs::sampled_{name}");
            (test, alone(&checker, SEED, SAMPLED, || dining(4)))
        })
        .collect();
    let counts: &[usize] = match kind {
        Kind::Redis => &[1, 2, 4],
        Kind::Postgres => &[4],
    };
    for &count in counts {
        let machine = Machine::new(&server.address());
        let front_end = machine.front_end("programs::sampled");
        // The smallest slices have one stream in each part.
        let workers: Vec<_> = (0..count)
            .map(|_| machine.worker(&["--slice", "1ms"]))
            .collect();
        assert_eq!(
            shared(&front_end.finish(), &machine),
            expected,
            "{count} workers"
        );
        for worker in workers {
            let worker = worker.finish();
            assert_eq!(worker.code, Some(0), "{worker:?}");
        }
    }
}

/// The processes that a command has started.
fn children(parent: &Running) -> Vec<u32> {
    let is_child = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // Its name, which is in parentheses, may contain anything.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        fields.split(' ').nth(1) == Some(&parent.id().to_string())
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(is_child).collect()
}

/// A stream in the middle of which a worker is killed, or the process of a test is asked to end, counts once.
fn a_stream_that_is_broken_off_is_run_again_whole(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let flags = ["--lease", "300ms", "--slice", "20ms"];
    let mut front_end = machine.front_end("programs::slowly_sampled");
    let mut rng = Rng::with_seed(9);
    let mut workers = vec![machine.worker(&flags), machine.worker(&flags)];
    let (mut killed, mut asked) = (0, 0);
    while !front_end.has_ended() && killed + asked < 24 {
        thread::sleep(Duration::from_millis(rng.u64(30..250)));
        let at = rng.usize(..workers.len());
        if rng.bool() {
            workers[at].signal("-KILL");
            workers[at] = machine.worker(&flags);
            killed += 1;
        } else {
            for process in children(&workers[at]) {
                let mut kill = std::process::Command::new("kill");
                let sent = kill.args(["-TERM", &process.to_string()]).output().unwrap();
                asked += u32::from(sent.status.success());
            }
        }
    }
    let expected = alone(&sampling(Strategy::Random), SEED, SAMPLED, || dining(4));
    let test = "programs::slowly_sampled".to_owned();
    assert_eq!(
        shared(&front_end.finish(), &machine),
        [(test, expected)].into()
    );
    assert!(killed >= 2 && asked >= 2, "{killed} killed, {asked} asked");
    for worker in workers {
        worker.finish();
    }
}

/// Streams are committed whole: their executions are multiples of the length of a stream.
fn the_end_of_the_time_cuts_no_stream(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let workers = [(); 2].map(|()| machine.worker(&["--slice", "20ms"]));
    let front_end = machine.front_end("programs::timed").finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let finished = &front_end.events("finished")[0];
    let executions = finished["executions"].as_u64().unwrap();
    assert!(executions > 0);
    assert_eq!(executions % 64, 0, "{executions} executions");
    let summary = finished["summary"].as_str().unwrap();
    let limit = "stopped after 1.5s: raise `max_time` for more";
    assert!(summary.contains(limit), "{summary}");
    for worker in workers {
        assert!(worker.finish().has_worked());
    }
}

#[test]
fn a_check_with_no_stream_in_its_time_does_not_pass() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::timed").finish();
    assert_eq!(front_end.code, Some(2), "{front_end:?}");
    let problem = "nothing of queue programs::timed was finished in its time";
    assert!(front_end.stderr.contains(problem), "{front_end:?}");
}

#[test]
fn more_classes_than_can_be_compared_are_counted_about() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::many_sampled");
    let worker = machine.worker(&[]);
    // The default limit of executions, and none of the time.
    let expected = alone(&many(), 3, 100_000, || dining(6));
    assert!(expected.classes > raddle_queue::MAX_EXACT_CLASSES);
    let front_end = front_end.finish();
    let found = shared(&front_end, &machine).into_values().next().unwrap();
    assert_eq!(
        (found.executions, found.sum),
        (expected.executions, expected.sum)
    );
    let error = found.classes as f64 / expected.classes as f64 - 1.0;
    assert!(error.abs() < 0.05, "{found:?}, {expected:?}");
    let finished = &front_end.events("finished")[0];
    assert_eq!(finished["classes_are_estimated"], true);
    let summary = finished["summary"].as_str().unwrap();
    let about = format!(
        "not every behaviour was run: about {} classes in 100000 runs",
        found.classes
    );
    assert!(summary.starts_with(&about), "{summary}");
    worker.finish();
}

#[test]
fn a_failure_of_a_sampler_is_told_with_the_seed_of_its_stream() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::deadlock_sampled");
    let worker = machine.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(1), "{front_end:?}");
    let failures = front_end.events("failure");
    assert_eq!(failures.len(), 1, "{front_end:?}");
    let failure = &failures[0]["failure"];
    assert_eq!(failure["kind"], "Deadlock");
    assert_eq!(failure["search"], "random, seed 5");
    worker.finish();
}

on_both_kinds! {
    every_sampler_has_the_executions_of_one_process
    a_stream_that_is_broken_off_is_run_again_whole
    the_end_of_the_time_cuts_no_stream
}
