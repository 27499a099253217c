//! Larger searches, by hand: each number of workers with each disturbance on both servers.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::commands::{Finished, Machine, Running};
use crate::programs::{dp_alone, fifty_alone, fifty_seeds, rw_alone};
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

/// Maximum number of disturbances in a search, so that it ends.
const MOST: usize = 12;

/// What happens to a search while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    Nothing,
    /// Workers are killed, and others come.
    Kill,
    /// Workers are stopped for longer than their lease.
    Stop,
    /// The server is killed and comes back in an earlier state.
    Rollback,
    /// Connections are cut.
    Cut,
    /// Parts are delivered to several workers at once: leases are shorter than slices.
    Duplicate,
}

use Disturbance::{Cut, Duplicate, Kill, Nothing, Rollback, Stop};

/// A worker that is sent a signal, and another one if it is killed.
fn disturb(
    disturbance: Disturbance,
    workers: &mut [Running],
    server: &mut Server,
    proxy: &mut Proxy,
    rng: &mut Rng,
    start: impl Fn() -> Running,
) {
    let at = rng.usize(..workers.len());
    match disturbance {
        Nothing | Duplicate => {}
        Kill => {
            workers[at].signal("-KILL");
            workers[at] = start();
        }
        Stop => {
            workers[at].signal("-STOP");
            thread::sleep(Duration::from_millis(700));
            workers[at].signal("-CONT");
        }
        Rollback => server.forget(Duration::from_millis(300), || {}),
        Cut => drop(proxy.cut()),
    }
}

/// Runs a test with workers that are disturbed.
fn disturbed(
    kind: Kind,
    test: &str,
    count: usize,
    disturbance: Disturbance,
) -> (Finished, Machine) {
    let mut server = Server::own(kind).expect("it was there");
    let mut proxy = Proxy::start(server.port());
    let machine = Machine::new(&server.address_by(proxy.port()));
    let begin = Instant::now();
    let mut front_end = machine.front_end(test);
    let flags: &[&str] = match disturbance {
        Duplicate => &["--lease", "2ms"],
        _ => &["--lease", "500ms"],
    };
    let start = || machine.worker(flags);
    let mut workers: Vec<_> = (0..count).map(|_| start()).collect();
    let mut rng = Rng::with_seed(count as u64);
    let mut times = 0;
    while !front_end.has_ended() {
        thread::sleep(Duration::from_millis(rng.u64(100..600)));
        if times < MOST && disturbance != Nothing && !front_end.has_ended() {
            disturb(
                disturbance,
                &mut workers,
                &mut server,
                &mut proxy,
                &mut rng,
                start,
            );
            times += 1;
        }
    }
    let finished = front_end.finish();
    let seconds = begin.elapsed().as_secs_f64();
    let late: usize = workers
        .into_iter()
        .map(|worker| late(&worker.finish()))
        .sum();
    println!(
        "{kind:?}, {test}, {count} workers, {disturbance:?}: {times} times, {late} parts lost to others, {seconds:.1} s"
    );
    (finished, machine)
}

/// The number of parts of a worker that other workers had as well.
fn late(worker: &Finished) -> usize {
    let before = worker.stderr.split(" of them lost").next();
    let before = before.filter(|_| worker.stderr.contains(" of them lost"));
    let number = before.and_then(|text| text.rsplit(' ').next());
    number.map_or(0, |number| number.replace(',', "").parse().unwrap())
}

fn matrix(kind: Kind) {
    if Server::of(kind).is_none() {
        return;
    }
    let single: [(&str, (u64, u64)); 2] = [
        ("programs::rw_monitor_sc", rw_alone()),
        ("programs::dp6", dp_alone(6)),
    ];
    assert_eq!(
        [single[0].1.0, single[1].1.0],
        [61_716, 901_752],
        "the published numbers"
    );
    let fifty: BTreeMap<String, (u64, u64)> = fifty_seeds()
        .map(|seed| (format!("random {seed}"), fifty_alone(seed)))
        .collect();
    let counts = std::env::var("RADDLE_MATRIX_WORKERS").unwrap_or("1 2 4 8".to_owned());
    let counts: Vec<usize> = counts
        .split(' ')
        .map(|count| count.parse().unwrap())
        .collect();
    let chosen = std::env::var("RADDLE_MATRIX_DISTURBANCES");
    let all = [Nothing, Kill, Stop, Rollback, Cut, Duplicate];
    let is_chosen = |name: &str| match &chosen {
        Ok(chosen) => chosen.split(' ').any(|one| one == name),
        Err(_) => true,
    };
    for disturbance in all.into_iter().filter(|it| is_chosen(&format!("{it:?}"))) {
        for &count in &counts {
            for (test, (classes, sum)) in single {
                let (front_end, machine) = disturbed(kind, test, count, disturbance);
                assert_eq!(
                    front_end.classes(),
                    [(test.to_owned(), classes)].into(),
                    "{front_end:?}"
                );
                assert_eq!(machine.sums(), [(test.to_owned(), sum)].into());
            }
            let (front_end, machine) = disturbed(kind, "programs::fifty", count, disturbance);
            let sums = machine.sums();
            let finished = front_end.events("finished");
            assert_eq!(finished.len(), fifty.len(), "{front_end:?}");
            // The checks of one test come one after the other.
            for (seed, event) in fifty_seeds().zip(&finished) {
                let name = format!("random {seed}");
                let found = (event["classes"].as_u64().unwrap(), sums[&name]);
                assert_eq!(found, fifty[&name], "{name}");
            }
        }
    }
}

/// By hand: `cargo test-queue -- --ignored --nocapture matrix`, with `RADDLE_MATRIX_WORKERS=8` for one number of workers, and
/// `RADDLE_MATRIX_DISTURBANCES='Kill Cut'` for some disturbances.
#[test]
#[ignore = "takes many minutes"]
fn matrix_on_redis() {
    matrix(Kind::Redis);
}

#[test]
#[ignore = "takes many minutes"]
fn matrix_on_postgresql() {
    matrix(Kind::Postgres);
}
