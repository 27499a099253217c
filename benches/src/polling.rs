//! Instructions per run of programs with loops that wait, as the programs grow: an event must not cost more because
//! another thread does more while the loop waits.
//!
//! Each program runs in two or three sizes. Runs are those of the classes, and those that are discarded because
//! a loop only looked once more. A larger size has longer runs, because its threads do more, so the ratio is that of
//! the instructions for one event of a run. Threads that spin have one class in every size: its runs must grow no
//! faster than the size.

use std::time::Duration;

use raddle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use raddle::sync::mpsc::{self, RecvTimeoutError};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, Strategy, thread};

use crate::instructions::{Workload, WorkloadKind, measure};

/// Maximum ratio of the costs of an event in one program's sizes, and of the runs for each value that threads spin
/// on.
const MOST: f64 = 2.0;

/// Maximum runs of one search: the larger sizes of some programs have many more classes.
const MAX_RUNS: u64 = 2_000;

/// A program with a loop that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    /// Two threads that spin until a writer has written its last value.
    Spinning,
    /// A thread that receives with a time limit until the last message has come.
    Receiving,
    /// A thread that waits on a condition variable with a time limit until a count is reached.
    Notified,
    /// A reader that adds itself to a count, and undoes that while a writer is there.
    Undoing,
    /// Two such readers.
    UndoingTwice,
}

use Waiting::{Notified, Receiving, Spinning, Undoing, UndoingTwice};

const fn workload(name: &'static str, program: Waiting, size: u64) -> Workload {
    Workload {
        name,
        amounts: [1, 2],
        kind: WorkloadKind::Waiting(program, size),
    }
}

/// The sizes of one program stand one after the other.
pub(crate) static WORKLOADS: [Workload; 14] = [
    workload("spinning_10", Spinning, 10),
    workload("spinning_20", Spinning, 20),
    workload("spinning_40", Spinning, 40),
    workload("receiving_5", Receiving, 5),
    workload("receiving_10", Receiving, 10),
    workload("receiving_20", Receiving, 20),
    workload("notified_2", Notified, 2),
    workload("notified_4", Notified, 4),
    workload("notified_6", Notified, 6),
    workload("undoing_2", Undoing, 2),
    workload("undoing_4", Undoing, 4),
    workload("undoing_8", Undoing, 8),
    workload("undoing_twice_1", UndoingTwice, 1),
    workload("undoing_twice_2", UndoingTwice, 2),
];

/// Measures every program; true when all were measured and the costs of its sizes are alike.
pub(crate) fn run() -> bool {
    let mut all_alike = true;
    let mut smallest: Option<(Waiting, f64, f64)> = None;
    for workload in &WORKLOADS {
        let WorkloadKind::Waiting(program, size) = workload.kind else {
            continue;
        };
        let (cost, classes) = match measure(workload) {
            Ok(measured) => measured,
            Err(problem) => {
                eprintln!("error: {problem}");
                return false;
            }
        };
        let events = program.events(size);
        let per_event = cost / events;
        let (runs, _) = program.search(size);
        let per_size = runs as f64 / size as f64;
        let (first, first_runs) = match smallest {
            Some((same, first, first_runs)) if same == program => (first, first_runs),
            _ => (per_event, per_size),
        };
        smallest = Some((program, first, first_runs));
        let (ratio, ratio_of_runs) = (per_event / first, per_size / first_runs);
        all_alike &= ratio <= MOST && (program != Spinning || ratio_of_runs <= MOST);
        println!(
            "polling {} size={size} runs={runs} per_run={cost:.0} events={events:.1} \
             per_event={per_event:.0} classes_per_run={classes:.3} ratio={ratio:.2} \
             ratio_of_runs={ratio_of_runs:.2}",
            workload.name
        );
    }
    all_alike
}

impl Waiting {
    /// Searches all classes, or those of the first runs; returns the numbers of runs and of classes.
    pub(crate) fn search(self, size: u64) -> (u64, u64) {
        let report = Self::checker().run(|| self.run(size));
        report.assert_ok();
        (report.runs(), report.classes())
    }

    fn checker() -> Checker {
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .max_executions(MAX_RUNS)
    }

    /// Returns the mean number of events of the executions of such a search.
    fn events(self, size: u64) -> f64 {
        let (mut events, mut executions) = (0, 0);
        let checker = Self::checker();
        let report =
            raddle::__private::run_observed(checker, || self.run(size), &mut |execution| {
                events += execution.events.len();
                executions += 1;
            });
        report.assert_ok();
        events as f64 / f64::from(executions)
    }

    fn run(self, size: u64) {
        match self {
            Spinning => {
                let value = Arc::new(AtomicU64::new(0));
                let readers = [0, 1].map(|_| {
                    let value = Arc::clone(&value);
                    thread::spawn(move || while value.load(SeqCst) != size {})
                });
                (1..=size).for_each(|next| value.store(next, SeqCst));
                for reader in readers {
                    reader.join().expect("it ends");
                }
            }
            Receiving => {
                let (sender, receiver) = mpsc::channel();
                let sending = thread::spawn(move || {
                    (1..=size).for_each(|next| sender.send(next).expect("it is received"));
                });
                loop {
                    match receiver.recv_timeout(Duration::from_millis(1)) {
                        Ok(value) if value == size => break,
                        Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => panic!("the last message is lost"),
                    }
                }
                sending.join().expect("it ends");
            }
            Notified => {
                let shared = Arc::new((Mutex::new(0), Condvar::new()));
                let other = Arc::clone(&shared);
                let counting = thread::spawn(move || {
                    for _ in 0..size {
                        *other.0.lock().expect("no panic") += 1;
                        other.1.notify_one();
                    }
                });
                let mut count = shared.0.lock().expect("no panic");
                while *count < size {
                    let waited = shared.1.wait_timeout(count, Duration::from_millis(1));
                    count = waited.expect("no panic").0;
                }
                drop(count);
                counting.join().expect("it ends");
            }
            Undoing => read_and_write(1, size),
            UndoingTwice => read_and_write(2, size),
        }
    }
}

/// Readers that count themselves in steps of two, and a writer that sets the lowest bit this often.
fn read_and_write(readers: usize, writes: u64) {
    let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let reading: Vec<_> = (0..readers)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (state, data) = &*shared;
                while state.fetch_add(2, SeqCst) & 1 == 1 {
                    state.fetch_sub(2, SeqCst);
                }
                let read = data.load(SeqCst);
                state.fetch_sub(2, SeqCst);
                read
            })
        })
        .collect();
    let (state, data) = &*shared;
    for _ in 0..writes {
        while state.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
        data.fetch_add(1, SeqCst);
        state.fetch_sub(1, SeqCst);
    }
    for reader in reading {
        reader.join().expect("it ends");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_searched() {
        for program in [Spinning, Receiving, Notified, Undoing, UndoingTwice] {
            let (runs, classes) = program.search(1);
            assert!(classes > 0 && runs >= classes, "{program:?}");
        }
    }
}
