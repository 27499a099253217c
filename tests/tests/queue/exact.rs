//! Class sets are exact: each class is counted once, by the sum of its fingerprints.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::commands::{Finished, Machine, Running};
use crate::programs::{RANDOM, dp_alone, random_alone};
use crate::proxy::Proxy;
use crate::scripts::command;
use crate::server::{Kind, Server, on_both_kinds};

/// The published number of sequences of five philosophers (Lei and Carver).
pub const FIVE: u64 = 19_330;

/// Their tests.
const FAST: &str = "programs::dp5";
pub const SLOW: &str = "programs::slow_dp5";

/// Compares the results of a front end for five philosophers with those of one process.
fn assert_dp5(front_end: &Finished, machine: &Machine, test: &str) {
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let test = test.to_owned();
    assert_eq!(front_end.classes(), [(test.clone(), FIVE)].into());
    let (classes, sum) = dp_alone(5);
    assert_eq!(classes, FIVE);
    assert_eq!(machine.sums(), [(test, sum)].into());
}

/// Ends all workers, which end by themselves with the run.
fn finish(workers: Vec<Running>) -> Vec<Finished> {
    workers.into_iter().map(Running::finish).collect()
}

/// The number of parts that workers lost to others.
fn lost(workers: &[Finished]) -> usize {
    let is_lost = |one: &&Finished| one.stderr.contains("lost to other workers");
    workers.iter().filter(is_lost).count()
}

/// The number of classes that were committed to the queue.
pub fn classes(machine: &Machine) -> u64 {
    let status = machine.run(&["queue", "status", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap_or_default();
    status["searches"][0]["classes"].as_u64().unwrap_or(0)
}

pub fn wait_for_classes(machine: &Machine) {
    let start = Instant::now();
    while classes(machine) == 0 {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "no work was done"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn one_to_eight_workers_run_every_class_once(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    for count in [1, 2, 4, 8] {
        let machine = Machine::new(&server.address());
        let front_end = machine.front_end(FAST);
        let workers: Vec<_> = (0..count).map(|_| machine.worker(&[])).collect();
        assert_dp5(&front_end.finish(), &machine, FAST);
        for worker in finish(workers) {
            assert!(worker.has_worked(), "{worker:?}");
            assert!(
                !worker.stderr.contains("lost to other workers"),
                "{worker:?}"
            );
        }
    }
}

fn random_programs_have_the_classes_of_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let expected: BTreeMap<String, (u64, u64)> = (0..RANDOM)
        .map(|number| {
            (
                format!("programs::random_{number:02}"),
                random_alone(number),
            )
        })
        .collect();
    // Starting the processes takes most of the time, and is the same for both kinds.
    let counts: &[usize] = match kind {
        Kind::Redis => &[1, 2, 4],
        Kind::Postgres => &[4],
    };
    for &count in counts {
        let machine = Machine::new(&server.address());
        let front_end = machine.front_end("programs::random");
        // The smallest slices split small programs.
        let workers: Vec<_> = (0..count)
            .map(|_| machine.worker(&["--slice", "1ms"]))
            .collect();
        let front_end = front_end.finish();
        let (classes, sums) = (front_end.classes(), machine.sums());
        let found: BTreeMap<String, (u64, u64)> = classes
            .iter()
            .map(|(test, classes)| (test.clone(), (*classes, sums[test])))
            .collect();
        assert_eq!(found, expected, "{count} workers");
        let parts: usize = finish(workers).iter().map(parts).sum();
        assert!(parts > 3 * RANDOM as usize, "only {parts} parts");
    }
}

/// The number of parts that a worker has explored.
fn parts(worker: &Finished) -> usize {
    let (before, _) = worker
        .stderr
        .split_once(" parts")
        .expect("it prints its counts");
    let number = before.rsplit(' ').next().unwrap().replace(',', "");
    number.parse().unwrap()
}

fn killed_workers_lose_nothing(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let flags = ["--lease", "300ms", "--slice", "20ms"];
    let mut front_end = machine.front_end(SLOW);
    let mut rng = Rng::with_seed(7);
    let mut workers = vec![machine.worker(&flags), machine.worker(&flags)];
    let mut killed = 0;
    while !front_end.has_ended() && killed < 12 {
        thread::sleep(Duration::from_millis(rng.u64(100..500)));
        // Its process ends with it.
        let at = rng.usize(..workers.len());
        workers[at].signal("-KILL");
        workers[at] = machine.worker(&flags);
        killed += 1;
    }
    assert_dp5(&front_end.finish(), &machine, SLOW);
    assert!(killed >= 3, "only {killed} were killed");
    finish(workers);
}

fn stopped_workers_count_nothing_twice(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let flags = ["--lease", "150ms", "--slice", "20ms"];
    let mut front_end = machine.front_end(SLOW);
    let workers = vec![machine.worker(&flags), machine.worker(&flags)];
    thread::sleep(Duration::from_millis(500));
    let mut stops = 0;
    while !front_end.has_ended() && stops < 8 {
        let worker = &workers[stops % 2];
        worker.signal("-STOP");
        thread::sleep(Duration::from_millis(250));
        worker.signal("-CONT");
        thread::sleep(Duration::from_millis(50));
        stops += 1;
    }
    assert_dp5(&front_end.finish(), &machine, SLOW);
    let workers = finish(workers);
    assert!(lost(&workers) > 0, "no lease expired: {workers:?}");
}

fn a_lease_is_kept_while_the_test_starts(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::starts_slowly");
    let flags = ["--lease", "300ms"];
    let workers = vec![machine.worker(&flags), machine.worker(&flags)];
    assert_eq!(front_end.finish().classes().values().sum::<u64>(), 30);
    let workers = finish(workers);
    assert_eq!(lost(&workers), 0, "{workers:?}");
}

fn a_server_that_forgets_its_last_second_loses_nothing(kind: Kind) {
    let Some(mut server) = Server::own(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let flags = ["--lease", "500ms", "--slice", "10ms"];
    let mut front_end = machine.front_end(SLOW);
    let workers: Vec<_> = (0..2).map(|_| machine.worker(&flags)).collect();
    wait_for_classes(&machine);
    // The most classes that the queue has had, and those that it had after it had forgotten some.
    let (mut most, mut forgotten) = (0, Vec::new());
    let is_less = |(before, after): &(u64, u64)| after < before;
    // On a busy machine nothing may have been committed in the time that is forgotten.
    while !front_end.has_ended()
        && (forgotten.len() < 3 || !forgotten.iter().any(is_less) && forgotten.len() < 12)
    {
        thread::sleep(Duration::from_millis(200));
        server.forget(Duration::from_millis(600), || most = classes(&machine));
        forgotten.push((most, classes(&machine)));
    }
    assert!(!forgotten.is_empty(), "the search ended too soon");
    assert!(
        forgotten.iter().any(is_less),
        "nothing was forgotten: {forgotten:?}"
    );
    assert_dp5(&front_end.finish(), &machine, SLOW);
    finish(workers);
}

fn a_server_that_forgets_everything_starts_the_search_again(kind: Kind) {
    let Some(mut server) = Server::own(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end(SLOW);
    let worker = machine.worker(&["--lease", "500ms", "--slice", "10ms"]);
    wait_for_classes(&machine);
    server.forget_everything();
    let front_end = front_end.finish();
    assert_dp5(&front_end, &machine, SLOW);
    assert!(
        front_end.stderr.contains("which starts again"),
        "{front_end:?}"
    );
    assert!(worker.finish().has_worked());
}

/// A server whose memory is full refuses to write, and goes on when there is memory again.
#[test]
fn a_server_without_memory_is_waited_for() {
    let Some(server) = Server::own(Kind::Redis) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end(SLOW);
    let workers: Vec<_> = (0..2)
        .map(|_| machine.worker(&["--slice", "20ms"]))
        .collect();
    wait_for_classes(&machine);
    let set = |bytes: &str| {
        let reply = command(server.port(), &format!("CONFIG SET maxmemory {bytes}"));
        assert!(reply.starts_with("+OK"), "{reply}");
    };
    set("1");
    let before = classes(&machine);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(classes(&machine), before, "it refuses to write");
    set("0");
    assert_dp5(&front_end.finish(), &machine, SLOW);
    let workers = finish(workers);
    assert!(workers.iter().all(Finished::has_worked), "{workers:?}");
    let is_warned = |one: &Finished| one.stderr.contains("OOM command not allowed");
    assert!(workers.iter().any(is_warned), "{workers:?}");
}

fn connections_that_break_lose_nothing(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let mut proxy = Proxy::start(server.port());
    let machine = Machine::new(&server.address_by(proxy.port()));
    let flags = ["--lease", "500ms", "--slice", "10ms"];
    let mut front_end = machine.front_end(SLOW);
    let workers: Vec<_> = (0..2).map(|_| machine.worker(&flags)).collect();
    let mut rng = Rng::with_seed(3);
    let mut cuts = 0;
    while !front_end.has_ended() && cuts < 40 {
        thread::sleep(Duration::from_millis(rng.u64(10..150)));
        cuts += proxy.cut();
    }
    proxy.stop_cutting();
    assert!(cuts > 5, "only {cuts} connections were cut");
    assert_dp5(&front_end.finish(), &machine, SLOW);
    finish(workers);
}

fn an_interrupted_front_end_leaves_a_run_that_is_resumed(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let worker = machine.worker(&["--slice", "20ms"]);
    let front_end = machine.front_end(SLOW);
    wait_for_classes(&machine);
    // The worker leaves the run after its part.
    worker.signal("-INT");
    let worker = worker.finish();
    assert_eq!(worker.code, Some(130), "{worker:?}");
    front_end.signal("-INT");
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(130), "{front_end:?}");
    let finished = &front_end.events("finished")[0];
    assert_eq!(finished["interrupted"], true);
    assert_eq!(finished["guarantee"], "Sampled");
    assert_eq!(
        finished["resume"],
        "cargo raddle test programs::slow_dp5 --json --queue -- -- --include-ignored"
    );
    let before = classes(&machine);
    assert!((1..FIVE).contains(&before), "{before} classes");
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end(SLOW);
    let worker = machine.worker(&[]);
    assert_dp5(&front_end.finish(), &machine, SLOW);
    let worker = worker.finish();
    let explored = worker.stderr.lines().last().unwrap_or_default().to_owned();
    let explored = explored.split(' ').next().unwrap().replace(',', "");
    assert_eq!(
        explored.parse::<u64>().unwrap(),
        FIVE - before,
        "{worker:?}"
    );
    assert_eq!(machine.run(&["queue", "status"]).stdout, "no run\n");
}

on_both_kinds! {
    one_to_eight_workers_run_every_class_once
    random_programs_have_the_classes_of_one_process
    killed_workers_lose_nothing
    stopped_workers_count_nothing_twice
    a_lease_is_kept_while_the_test_starts
    a_server_that_forgets_its_last_second_loses_nothing
    a_server_that_forgets_everything_starts_the_search_again
    connections_that_break_lose_nothing
    an_interrupted_front_end_leaves_a_run_that_is_resumed
}
