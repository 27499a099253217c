//! Workloads, and the instructions that each takes, counted by valgrind's callgrind.
//!
//! Time depends on the load of the machine, instruction counts do not. Every workload runs twice in a
//! child process under valgrind, with a small and a large amount of work. The difference of the two
//! counts, divided by the difference in work, leaves out what it costs to start the process and the
//! check. Executions in native mode are counted by [single steps](stepping) instead.

pub mod native;
pub mod stepping;
mod symbols;

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use raddle::{Checker, Memory, Strategy, thread};
use raddle_tests::programs::{dining, racy_counter};

/// A program and a strategy, run for an amount of work.
#[derive(Debug)]
pub struct Workload {
    /// Name on the command line of the child process and in the output.
    pub name: &'static str,
    /// What is counted: an execution, a scheduling point or a class.
    pub unit: &'static str,
    /// Small and large amount, in executions, scheduling points or whole searches.
    amounts: [u64; 2],
    run: fn(u64) -> u64,
}

/// Accesses in one execution of the workloads of scheduling points. Many, so that starting and ending
/// threads hardly counts.
const ACCESSES: u64 = 10_000;

/// The workloads. Half of the points of two threads switch.
pub const WORKLOADS: [Workload; 8] = [
    Workload {
        name: "racy_2x1",
        unit: "execution",
        amounts: [1_000, 5_000],
        run: |executions| {
            sampling(executions)
                .run(|| {
                    racy_counter(2, 1);
                })
                .assert_ok();
            executions
        },
    },
    Workload {
        name: "point_sc",
        unit: "point",
        amounts: [20_000, 70_000],
        run: |points| accesses(1, Memory::Sc, points),
    },
    Workload {
        name: "point_sc_two_threads",
        unit: "point",
        amounts: [20_000, 70_000],
        run: |points| accesses(2, Memory::Sc, points),
    },
    Workload {
        name: "point_rc11",
        unit: "point",
        amounts: [20_000, 70_000],
        run: |points| accesses(1, Memory::Rc11, points),
    },
    Workload {
        name: "point_rc11_two_threads",
        unit: "point",
        amounts: [20_000, 70_000],
        run: |points| accesses(2, Memory::Rc11, points),
    },
    Workload {
        name: "racy_3x2",
        unit: "class",
        amounts: [0, 1],
        run: |searches| exhaust(searches, || _ = racy_counter(3, 2)),
    },
    Workload {
        name: "racy_relaxed_2x2",
        unit: "class",
        amounts: [1, 21],
        run: |searches| exhaust(searches, || relaxed_counter(2, 2)),
    },
    Workload {
        name: "dp4",
        unit: "class",
        amounts: [1, 6],
        run: |searches| exhaust(searches, || dining(4)),
    },
];

/// Returns the workload with this name.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|workload| workload.name == name)
}

impl Workload {
    /// Does the work in this process, which is the child process, and prints its amount.
    pub fn run_here(&self, amount: u64) {
        println!("{}", (self.run)(amount));
    }

    /// Returns the instructions per unit.
    ///
    /// # Errors
    ///
    /// The reason why they could not be counted.
    pub fn measure(&self) -> Result<f64, String> {
        let [small, large] = self.amounts;
        let (instructions, units) = self.count(small)?;
        let (more_instructions, more_units) = self.count(large)?;
        let instructions = more_instructions as f64 - instructions as f64;
        Ok(instructions / (more_units - units) as f64)
    }

    /// Returns the instructions of a process with this amount of work, and the units of work.
    fn count(&self, amount: u64) -> Result<(u64, u64), String> {
        let (instructions, printed) = count(&["run", self.name, &amount.to_string()])?;
        // The results of the checks come before.
        let units = printed.lines().last().and_then(|line| line.parse().ok());
        let units = units.ok_or_else(|| format!("{} did not say its work:\n{printed}", self.name));
        Ok((instructions, units?))
    }
}

/// Runs this program with other arguments under callgrind; returns the instructions of that process and
/// its standard output.
///
/// # Errors
///
/// The reason why they could not be counted.
pub fn count(arguments: &[&str]) -> Result<(u64, String), String> {
    let program = std::env::current_exe().expect("a program has a file");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => "valgrind, which counts the instructions, is not installed".into(),
        _ => format!("valgrind cannot be started: {error}"),
    })?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let counted = collected(&errors).filter(|_| output.status.success());
    let failed = || format!("{} failed under valgrind:\n{errors}", arguments.join(" "));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((counted.ok_or_else(failed)?, printed))
}

/// Returns the total that callgrind prints: `==1== Collected : 123`.
fn collected(log: &str) -> Option<u64> {
    let (_, total) = log.rsplit_once("Collected :")?;
    total.split_whitespace().next()?.parse().ok()
}

fn sampling(executions: u64) -> Checker {
    // The number of executions is the limit.
    let no_limit = std::time::Duration::from_secs(1_000_000);
    Checker::new()
        .strategy(Strategy::Random)
        .max_executions(executions)
        .max_time(no_limit)
}

/// Runs scheduling points of threads that share one atomic; returns their number.
fn accesses(threads: u64, memory: Memory, points: u64) -> u64 {
    let executions = points.div_ceil(ACCESSES);
    let access = move |shared: &AtomicUsize| {
        for _ in 0..ACCESSES / threads / 2 {
            let value = shared.load(Relaxed);
            shared.store(value + 1, Relaxed);
        }
    };
    let check = sampling(executions).memory(memory).seed(points);
    check
        .run(|| {
            let shared = Arc::new(AtomicUsize::new(0));
            let start = |_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || access(&shared))
            };
            let started: Vec<_> = (1..threads).map(start).collect();
            access(&shared);
            for thread in started {
                thread.join().expect("it does not panic");
            }
        })
        .assert_ok();
    executions * ACCESSES
}

/// A counter that loses updates, with relaxed accesses.
fn relaxed_counter(threads: usize, increments: usize) {
    let count = Arc::new(AtomicUsize::new(0));
    raddle_tests::programs::run_threads(threads, move |_| {
        for _ in 0..increments {
            count.store(count.load(Relaxed) + 1, Relaxed);
        }
    });
}

/// Runs whole searches; returns the number of their classes.
fn exhaust(searches: u64, program: fn()) -> u64 {
    let search = |_| {
        // No limit: a search with one estimates its size, and those executions are not part of the work.
        let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
        report.assert_ok();
        assert!(report.exhausted, "the search has no limit");
        report.classes()
    };
    (0..searches).map(search).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_the_counter_is_found() {
        let log = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(log), Some(123_456));
        assert_eq!(collected("==7== error calling PR_SET_PTRACER"), None);
    }

    #[test]
    fn work_is_counted() {
        let of = |name: &str| workload(name).expect("there is one").run;
        assert_eq!(of("racy_2x1")(30), 30);
        assert_eq!(of("point_sc_two_threads")(1), ACCESSES);
        // The number of traces, as in `counting::counts`.
        assert_eq!(exhaust(2, || _ = racy_counter(2, 2)), 2 * 34);
    }
}
