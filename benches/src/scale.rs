//! The cost of an event as executions have more events and more threads.
//!
//! Every thread alternates an update of one atomic that all share and a lock and unlock of one of
//! eight mutexes; or plain stores and compare-exchanges of that atomic, or `SeqCst` accesses. An execution has exactly the requested events, including those that start, join
//! and end threads. Sizes too small even for these are left out.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use raddle::{Checker, Memory, Strategy, thread};

use crate::measure::{Batch, spread, take_turns};
use crate::programs::raddle::sampling;

const ROUNDS: usize = 5;
const MUTEXES: usize = 8;
/// Maximum executions of a search.
const SEARCHED_EXECUTIONS: u64 = 2_000;

/// A size to measure.
#[derive(Clone, Copy, Debug)]
struct Size {
    threads: usize,
    events: usize,
    work: Work,
}

/// The events of each thread.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Updates that cannot fail, and locks.
    Updates,
    /// Plain stores and compare-exchanges: under weak memory each has a choice of places in coherence order.
    Stores,
    /// `SeqCst` loads and stores after a weaker one: a stale source must fit into an order of all of them.
    SeqCst,
}

impl Size {
    /// Returns the number of events that only start, join and end threads: each thread begins,
    /// ends, is spawned and joined; main begins and ends.
    fn overhead(self) -> usize {
        4 * self.threads + 2
    }

    /// True when threads have enough events for a comparison: with fewer for each, most of the cost
    /// is that of creating threads.
    fn is_busy(self) -> bool {
        self.events >= 10 * self.threads
    }

    /// The program of this size.
    fn run(self) {
        let shared = Arc::new((AtomicUsize::new(0), [const { Mutex::new(0) }; MUTEXES]));
        let left = self.events - self.overhead();
        let threads: Vec<_> = (0..self.threads)
            .map(|number| {
                let shared = Arc::clone(&shared);
                let events = left / self.threads + usize::from(number < left % self.threads);
                thread::spawn(move || match self.work {
                    Work::Updates => update(&shared.0, &shared.1, number, events),
                    Work::Stores => store(&shared.0, number, events),
                    Work::SeqCst => load_and_store(&shared.0, events),
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// One thread's part of the program with plain stores: exactly this many events.
fn store(shared: &AtomicUsize, thread: usize, events: usize) {
    for event in 0..events {
        match event % 2 {
            0 => shared.store(thread, Relaxed),
            _ => drop(shared.compare_exchange(thread, event, Relaxed, Relaxed)),
        }
    }
}

/// One thread's part of the program with `SeqCst` accesses: exactly this many events.
fn load_and_store(shared: &AtomicUsize, events: usize) {
    for event in 0..events {
        match event % 2 {
            0 => shared.store(event, if event == 0 { Relaxed } else { SeqCst }),
            _ => drop(shared.load(SeqCst)),
        }
    }
}

/// One thread's part of the program with updates: exactly this many events.
fn update(shared: &AtomicUsize, mutexes: &[Mutex<u64>], thread: usize, events: usize) {
    let mut left = events;
    let mut next = thread;
    while left > 0 {
        shared.fetch_add(1, Relaxed);
        left -= 1;
        if left >= 2 {
            *mutexes[next % MUTEXES].lock().unwrap() += 1;
            left -= 2;
            next += 1;
        }
    }
}

/// Prints the cost of an event under the random strategy.
pub(crate) fn random() {
    sample("scale", Work::Updates);
}

/// Prints the cost of an event under the random strategy, in programs with plain stores.
pub(crate) fn stores() {
    sample("scale stores", Work::Stores);
}

/// Prints the cost of an event under the random strategy, in programs with `SeqCst` accesses and weaker ones.
pub(crate) fn seq_cst() {
    sample("scale seq-cst", Work::SeqCst);
}

fn sample(name: &str, work: Work) {
    let sizes = sizes(work, &[2, 4, 8, 16, 32, 64], &[10, 100, 1_000, 10_000]);
    let batch = |size: Size| -> Batch<'static> {
        Box::new(move |events| {
            let executions = events.div_ceil(size.events as u64);
            let check = sampling(executions).seed(events).max_events(size.events);
            check.run(|| size.run()).assert_ok();
            executions * size.events as u64
        })
    };
    print(name, &sizes, batch);
}

/// Number of threads of [`many`], which all take two locks in turn.
const MANY: usize = 100;

/// Prints the rate of the automatic choice of strategies relative to that of the random walk, and the
/// peak memory.
pub(crate) fn many() {
    let body = || {
        let locks = Arc::new([const { Mutex::new(0) }; 2]);
        let threads: Vec<_> = (0..MANY)
            .map(|_| {
                let locks = Arc::clone(&locks);
                thread::spawn(move || locks.iter().for_each(|lock| *lock.lock().unwrap() += 1))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    };
    let batch = |strategy: Strategy| -> Batch<'static> {
        Box::new(move |runs| {
            let check = sampling(runs).strategy(strategy.clone()).seed(runs);
            let report = check.run(body);
            report.assert_ok();
            report.runs()
        })
    };
    let rates = take_turns(ROUNDS, vec![batch(Strategy::Random), batch(Strategy::Auto)]);
    println!(
        "scale many_threads threads={MANY} random={:.0} auto={:.0} ratio={:.2} peak_mib={}",
        rates[0],
        rates[1],
        rates[1] / rates[0],
        crate::memory::peak_kib() / 1024
    );
}

/// Prints the cost of an event of the exhaustive search, under both memory models.
pub(crate) fn exhaustive() {
    let sizes = sizes(Work::Updates, &[1, 2, 4, 8], &[10, 30, 100, 300, 1_000]);
    for (name, memory) in [
        ("scale exhaustive", Memory::Sc),
        ("scale exhaustive rc11", Memory::Rc11),
    ] {
        let batch = |size: Size| -> Batch<'static> {
            Box::new(move |events| {
                let mut done = 0;
                while done < events {
                    done += search(size, memory) * (size.events as u64 + 1);
                }
                done
            })
        };
        print(name, &sizes, batch);
    }
}

/// Runs the start of a search, or all of a small one, and returns the number of executions.
fn search(size: Size, memory: Memory) -> u64 {
    let check = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(memory)
        .shorten(false)
        .max_events(size.events + 1);
    let runs = AtomicU64::new(0);
    // Small programs have few classes: with a choice before it, a search has enough of them that
    // starting it costs nothing.
    let report = check.run(|| {
        // A limit of executions would add runs for an estimate.
        assert!(runs.fetch_add(1, Relaxed) < SEARCHED_EXECUTIONS, "enough");
        raddle::choose(0..SEARCHED_EXECUTIONS);
        size.run();
    });
    assert_eq!(
        runs.into_inner().min(SEARCHED_EXECUTIONS),
        SEARCHED_EXECUTIONS
    );
    report.executions
}

fn sizes(work: Work, threads: &[usize], events: &[usize]) -> Vec<Size> {
    let of = |threads| {
        move |&events: &usize| Size {
            threads,
            events,
            work,
        }
    };
    let all = threads
        .iter()
        .flat_map(|&threads| events.iter().map(of(threads)));
    all.filter(|size| size.events >= size.overhead()).collect()
}

fn print(name: &str, sizes: &[Size], batch: impl Fn(Size) -> Batch<'static>) {
    let batches = sizes.iter().map(|&size| batch(size)).collect();
    let costs: Vec<f64> = take_turns(ROUNDS, batches)
        .iter()
        .map(|rate| 1e9 / rate)
        .collect();
    for (
        Size {
            threads, events, ..
        },
        cost,
    ) in sizes.iter().zip(&costs)
    {
        println!("{name} threads={threads} events={events} ns_per_event={cost:.1}");
    }
    let busy: Vec<f64> = sizes
        .iter()
        .zip(&costs)
        .filter(|(size, _)| size.is_busy())
        .map(|(_, &cost)| cost)
        .collect();
    println!("{name} spread={:.1}", spread(&busy));
    // Of two executions with the same threads the longer one should cost more only by its length.
    for same in sizes.chunk_by(|one, other| one.threads == other.threads) {
        let threads = same[0].threads;
        let of_these = sizes
            .iter()
            .zip(&costs)
            .filter(|(size, _)| size.threads == threads);
        let busy = of_these.filter(|(size, _)| size.is_busy());
        let costs: Vec<f64> = busy.map(|(_, &cost)| cost).collect();
        println!("{name} threads={threads} spread={:.1}", spread(&costs));
    }
}

#[cfg(test)]
mod tests {
    use raddle::FailureKind;

    use super::*;

    #[test]
    fn an_execution_has_the_events_it_is_said_to_have() {
        let of = |work| sizes(work, &[2, 3, 8], &[10, 14, 15, 100, 101]);
        for size in [Work::Updates, Work::Stores, Work::SeqCst]
            .into_iter()
            .flat_map(of)
        {
            let events_up_to = |limit| {
                sampling(20)
                    .max_events(limit)
                    .named("scale")
                    .run(|| size.run())
                    .failures
            };
            assert!(events_up_to(size.events).is_empty(), "{size:?} has more");
            let failures = events_up_to(size.events - 1);
            assert_eq!(failures[0].kind, FailureKind::TooLong, "{size:?} has fewer");
        }
    }
}
