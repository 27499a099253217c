//! A discrete-event simulation of workers that share an exhaustive search by a queue, to see where the server is
//! saturated. No time passes: the events are the ends of slices and of the steps of the server.
//!
//! ```text
//! cargo run -p raddle-soak --bin queue_simulation
//! ```
//!
//! The server takes one step at a time. A part costs it two: a lease and a commit. Slices are as long as
//! `crates/cli/src/run/queue/pace.rs` makes them, and a rest is split in four while there are fewer than two parts for each
//! worker. The search is large: every part outlives its slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Microseconds of one step of the server, as Redis counted them for six philosophers (`INFO commandstats`: 73 with
/// slices that adapt, 64 with slices of 20 ms), and of a way through the network and back.
const STEP: u64 = 70;
const NETWORK: u64 = 500;
/// The rules of the pace, in microseconds.
const SHORTEST: u64 = 20_000;
const LONGEST: u64 = 1_000_000;
const HUNGRY: u64 = 100_000;
const FACTOR: u64 = 49;
const PIECES: u64 = 4;
/// Interval in which an idle worker asks again.
const ASK: u64 = 100_000;
/// Simulated time.
const END: u64 = 120_000_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The worker asks for a part.
    Asks(usize),
    /// The server has given it a part, or none.
    Answered(usize, bool),
    /// Its slice is over, and it commits.
    Commits(usize),
    Committed(usize),
}

#[derive(Clone, Default)]
struct Worker {
    /// Mean time of a part outside the search, as the worker measures it.
    overhead: u64,
    since: u64,
    slice: u64,
    /// Number of parts that its rest becomes.
    pieces: u64,
    /// Time in slices.
    searched: u64,
}

/// Returns the share of the time of workers in the search and that of the server in steps, both in the second minute, and
/// the seconds until all workers had a part at the same time, if they had.
fn simulate(count: usize, step: u64) -> (f64, f64, Option<f64>) {
    let mut workers = vec![Worker::default(); count];
    let mut events: BinaryHeap<Reverse<(u64, u64, Event)>> = BinaryHeap::new();
    let (mut ready, mut busy_until, mut number) = (1_u64, 0_u64, 0_u64);
    let (mut busy, mut all_busy, mut steps) = (0, None, 0_u64);
    let mut push = |events: &mut BinaryHeap<_>, time: u64, event: Event| {
        number += 1;
        events.push(Reverse((time, number, event)));
    };
    for worker in 0..count {
        push(&mut events, 0, Event::Asks(worker));
    }
    while let Some(Reverse((now, _, event))) = events.pop() {
        if now >= END {
            break;
        }
        // A step begins when the server has done those before it.
        let mut served = |busy_until: &mut u64| {
            *busy_until = (*busy_until).max(now + NETWORK / 2) + step;
            steps += u64::from(now >= END / 2);
            *busy_until + NETWORK / 2
        };
        match event {
            Event::Asks(worker) => {
                workers[worker].since = now;
                let answer = served(&mut busy_until);
                let has_part = ready > 0;
                ready -= u64::from(has_part);
                push(&mut events, answer, Event::Answered(worker, has_part));
            }
            Event::Answered(worker, false) => push(&mut events, now + ASK, Event::Asks(worker)),
            Event::Answered(worker, true) => {
                busy += 1;
                if busy == count && all_busy.is_none() {
                    all_busy = Some(now);
                }
                let hungry = ready < 2 * count as u64;
                let own = &mut workers[worker];
                let slice = (own.overhead * FACTOR).clamp(SHORTEST, LONGEST);
                own.slice = if hungry { slice.min(HUNGRY) } else { slice };
                own.pieces = if hungry { PIECES } else { 1 };
                push(&mut events, now + own.slice, Event::Commits(worker));
            }
            Event::Commits(worker) => {
                let own = &mut workers[worker];
                if now >= END / 2 {
                    own.searched += own.slice.min(now - END / 2);
                }
                let answer = served(&mut busy_until);
                ready += workers[worker].pieces;
                push(&mut events, answer, Event::Committed(worker));
            }
            Event::Committed(worker) => {
                busy -= 1;
                let own = &mut workers[worker];
                let outside = (now - own.since).saturating_sub(own.slice);
                own.overhead = (own.overhead * 7 + outside) / 8;
                push(&mut events, now, Event::Asks(worker));
            }
        }
    }
    let searched: u64 = workers.iter().map(|worker| worker.searched).sum();
    let share = searched as f64 / (count as u64 * (END / 2)) as f64;
    let load = (steps * step) as f64 / (END / 2) as f64;
    (share, load, all_busy.map(|time| time as f64 / 1e6))
}

fn main() {
    println!("workers  servers  step    in the search  server busy  all have a part after");
    for (step, servers) in [(STEP, 1), (10 * STEP, 1), (STEP, 10), (10 * STEP, 10)] {
        for count in [10, 100, 1_000, 3_000, 10_000] {
            // Each server has an equal share of the parts from the beginning, and of the workers.
            let (share, load, first) = simulate(count / servers, step);
            let first = first.map_or("never".to_owned(), |first| format!("{first:.1} s"));
            println!(
                "{count:>7}  {servers:>7}  {step:>4} µs  {:>11.1} %  {:>9.1} %  {first:>10}",
                100.0 * share,
                100.0 * load
            );
        }
    }
}
