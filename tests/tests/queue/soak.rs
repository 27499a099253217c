//! A long search on both servers, by hand: memory and disk of the server, and bytes to and from it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use raddle_queue::{EXECUTIONS, SearchState};

use crate::commands::Machine;
use crate::proxy::Proxy;
use crate::server::{Kind, Server};

/// Time from one look at the servers to the next.
const INTERVAL: Duration = Duration::from_secs(15);
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// One look at a server.
struct Look {
    seconds: f64,
    classes: f64,
    /// Bytes.
    memory: f64,
    disk: f64,
    traffic: f64,
}

/// A search on one server.
struct Soak {
    kind: Kind,
    server: Server,
    proxy: Proxy,
    machine: Machine,
    looks: Vec<Look>,
}

impl Soak {
    fn look(&mut self, start: Instant) {
        let look = Look {
            seconds: start.elapsed().as_secs_f64(),
            classes: classes(&self.server) as f64,
            memory: memory(self.server.id()),
            disk: size(self.server.directory()),
            traffic: self.proxy.bytes() as f64,
        };
        println!(
            "{:?} {:.0} s: {:.0} classes, {:.2} MB of memory, {:.2} MB on disk, {:.2} MB sent",
            self.kind,
            look.seconds,
            look.classes,
            look.memory / 1e6,
            look.disk / 1e6,
            look.traffic / 1e6
        );
        self.looks.push(look);
    }

    fn summarize(&self) {
        // The first quarter fills caches.
        let looks = &self.looks[self.looks.len() / 4..];
        let (first, last) = (&looks[0], &looks[looks.len() - 1]);
        let seconds = last.seconds - first.seconds;
        let (classes, traffic) = (last.classes - first.classes, last.traffic - first.traffic);
        let memory = slope(looks, |look| look.memory);
        println!(
            "{:?}: {:.1} classes/s; {:.0} bytes/s, {:.2} bytes/class; memory {:.2} MB, slope {:.1} bytes/s, after a day \
             {:.1} MB; disk {:.2} MB, slope {:.1} bytes/s, after a day {:.1} MB",
            self.kind,
            classes / seconds,
            traffic / seconds,
            traffic / classes,
            last.memory / 1e6,
            memory,
            (last.memory + memory * DAY) / 1e6,
            last.disk / 1e6,
            slope(looks, |look| look.disk),
            (last.disk + slope(looks, |look| look.disk) * DAY) / 1e6,
        );
    }
}

/// The number of classes that were committed to the queue.
fn classes(server: &Server) -> u64 {
    let queue = raddle_queue::connect(&server.address().parse().unwrap());
    let status = queue.and_then(|mut queue| queue.status()).unwrap();
    let searches = status.unwrap_or_default().searches;
    let executions = |state: &SearchState| state.sums.get(EXECUTIONS).copied();
    searches.values().filter_map(executions).sum()
}

/// The slope of the least squares line.
fn slope(looks: &[Look], value: impl Fn(&Look) -> f64) -> f64 {
    let count = looks.len() as f64;
    let mean = |value: &dyn Fn(&Look) -> f64| looks.iter().map(value).sum::<f64>() / count;
    let (time, height) = (mean(&|look| look.seconds), mean(&|look| value(look)));
    let products = looks
        .iter()
        .map(|look| (look.seconds - time) * (value(look) - height));
    let squares = looks.iter().map(|look| (look.seconds - time).powi(2));
    products.sum::<f64>() / squares.sum::<f64>()
}

/// The proportional share of memory of a process and its children, in bytes.
fn memory(process: u32) -> f64 {
    let own = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("Pss:"));
    let own = own.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    let children = children
        .split_whitespace()
        .map(|child| memory(child.parse().unwrap()));
    own.unwrap_or(0.0) * 1024.0 + children.sum::<f64>()
}

/// The size of all files in a directory.
fn size(directory: &Path) -> f64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len() as f64,
        // It was removed meanwhile.
        Err(_) => 0.0,
    });
    sizes.sum()
}

/// `RADDLE_SOAK_MINUTES=20 cargo test-queue -- --ignored --nocapture soak`.
#[test]
#[ignore = "takes 20 minutes"]
fn soak_on_both_servers() {
    let minutes = std::env::var("RADDLE_SOAK_MINUTES");
    let minutes: f64 = minutes.map_or(20.0, |minutes| minutes.parse().unwrap());
    let kinds = [Kind::Redis, Kind::Postgres];
    let mut soaks: Vec<Soak> = (kinds.into_iter())
        .filter_map(|kind| {
            let settings: &[&'static str] = match kind {
                Kind::Redis => &[],
                // Those of the package.
                Kind::Postgres => &[
                    "wal_writer_delay=200ms",
                    "wal_writer_flush_after=1MB",
                    "wal_buffers=-1",
                ],
            };
            let server = Server::start_with(kind, settings)?;
            let proxy = Proxy::start(server.port());
            let machine = Machine::new(&server.address_by(proxy.port()));
            Some(Soak {
                kind,
                server,
                proxy,
                machine,
                looks: Vec::new(),
            })
        })
        .collect();
    let commands: Vec<_> = (soaks.iter())
        .flat_map(|soak| {
            let test = "programs::slept_dp6";
            [
                soak.machine.front_end(test),
                soak.machine.worker(&[]),
                soak.machine.worker(&[]),
            ]
        })
        .collect();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 60.0 * minutes {
        thread::sleep(INTERVAL);
        soaks.iter_mut().for_each(|soak| soak.look(start));
    }
    drop(commands);
    soaks.iter().for_each(Soak::summarize);
}
