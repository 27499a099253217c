//! Instructions per execution, scheduling point and class, counted by valgrind's callgrind.
//!
//! Time depends on the load of the machine, instruction counts do not. Every workload runs twice in a
//! child process, this program again under valgrind, with a small and a large amount of work. The
//! difference of the two counts, divided by the difference in work, leaves out what it costs to start
//! the process and the check.

use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;

use raddle::{Checker, Memory, Strategy};

use crate::point::{Switches, accesses};
use crate::programs::{Program, raddle as ours};

/// A program and a strategy, run for an amount of work.
#[derive(Debug, PartialEq)]
pub(crate) struct Workload {
    /// Name on the command line of the child process and in the output.
    pub(crate) name: &'static str,
    /// Small and large amount, in executions, scheduling points or whole searches.
    amounts: [u64; 2],
    kind: WorkloadKind,
}

#[derive(Debug, PartialEq)]
enum WorkloadKind {
    Random(Program),
    /// Scheduling points of this many threads.
    Points(u64, Memory),
    Exhaustive(Program),
    /// Exhaustive search of this many philosophers in a monitor.
    Dining(usize),
}

/// Points of one thread stand directly before those of two threads: the cost of a switch is computed
/// from both.
pub(crate) const WORKLOADS: [Workload; 7] = [
    Workload {
        name: "racy_2x1",
        amounts: [1_000, 11_000],
        kind: WorkloadKind::Random(Program::racy(2, 1)),
    },
    Workload {
        name: "point_sc",
        amounts: [20_000, 120_000],
        kind: WorkloadKind::Points(1, Memory::Sc),
    },
    Workload {
        name: "point_sc_switching",
        amounts: [20_000, 120_000],
        kind: WorkloadKind::Points(2, Memory::Sc),
    },
    Workload {
        name: "point_rc11",
        amounts: [20_000, 120_000],
        kind: WorkloadKind::Points(1, Memory::Rc11),
    },
    Workload {
        name: "point_rc11_switching",
        amounts: [20_000, 120_000],
        kind: WorkloadKind::Points(2, Memory::Rc11),
    },
    Workload {
        name: "racy_3x2",
        amounts: [1, 2],
        kind: WorkloadKind::Exhaustive(Program::racy(3, 2)),
    },
    Workload {
        name: "dp5",
        amounts: [1, 2],
        kind: WorkloadKind::Dining(5),
    },
];

/// Amount of work that was done.
#[derive(Clone, Copy)]
struct Work {
    /// Executions, points or classes.
    units: u64,
    /// Switches of threads, where they are counted.
    switches: u64,
}

/// Measures every workload and prints a line for each. True when all were measured.
pub(crate) fn run() -> bool {
    let mut same_thread = 0.0;
    for workload in &WORKLOADS {
        let (cost, switches_per_unit) = match measure(workload) {
            Ok(measured) => measured,
            Err(problem) => {
                eprintln!("error: {problem}");
                return false;
            }
        };
        print!("instructions {} ", workload.name);
        match workload.kind {
            WorkloadKind::Random(_) => println!("per_execution={cost:.0}"),
            WorkloadKind::Points(1, _) => {
                same_thread = cost;
                println!("per_point={cost:.0}");
            }
            WorkloadKind::Points(..) => {
                // Only some of the points switch. The others cost the same as with one thread.
                let switch = same_thread + (cost - same_thread) / switches_per_unit;
                println!("per_point={cost:.0} per_switching_point={switch:.0}");
            }
            WorkloadKind::Exhaustive(_) | WorkloadKind::Dining(_) => {
                println!("per_class={cost:.0}")
            }
        }
    }
    true
}

/// Instructions per unit and switches per unit.
fn measure(workload: &Workload) -> Result<(f64, f64), String> {
    let [small, large] = workload.amounts;
    let (instructions, work) = count(workload, small)?;
    let (more_instructions, more_work) = count(workload, large)?;
    let units = (more_work.units - work.units) as f64;
    let switches = more_work.switches as f64 - work.switches as f64;
    let instructions = more_instructions as f64 - instructions as f64;
    Ok((instructions / units, switches / units))
}

/// Runs the workload in a child process under callgrind; returns the instructions of that process.
fn count(workload: &Workload, amount: u64) -> Result<(u64, Work), String> {
    let program = std::env::current_exe().expect("a program has a file");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["instructions", workload.name, &amount.to_string()])
        .stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => "valgrind, which counts the instructions, is not installed".into(),
        _ => format!("valgrind cannot be started: {error}"),
    })?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let failed = || format!("{} failed under valgrind:\n{errors}", workload.name);
    if !output.status.success() {
        return Err(failed());
    }
    let instructions = collected(&errors).ok_or_else(failed)?;
    let work = parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(failed)?;
    Ok((instructions, work))
}

/// The total that callgrind prints: `==1== Collected : 123`.
fn collected(log: &str) -> Option<u64> {
    let (_, total) = log.rsplit_once("Collected :")?;
    total.split_whitespace().next()?.parse().ok()
}

/// Parses the output of [`run_here`].
fn parse(line: &str) -> Option<Work> {
    let (units, switches) = line.trim().split_once(' ')?;
    Some(Work {
        units: units.parse().ok()?,
        switches: switches.parse().ok()?,
    })
}

/// Does the work in this process, which is the child process, and prints its amount.
pub(crate) fn run_here(workload: &Workload, amount: u64) {
    let Work { units, switches } = workload.kind.run(amount);
    println!("{units} {switches}");
}

impl WorkloadKind {
    fn run(&self, amount: u64) -> Work {
        let switches = Arc::new(Switches::default());
        let units = match *self {
            WorkloadKind::Random(program) => ours::random(program)(amount),
            WorkloadKind::Points(threads, memory) => accesses(threads, memory, &switches)(amount),
            WorkloadKind::Exhaustive(program) => (0..amount).map(|_| ours::exhaust(program)).sum(),
            WorkloadKind::Dining(philosophers) => (0..amount).map(|_| dine(philosophers)).sum(),
        };
        Work {
            units,
            switches: switches.count(),
        }
    }
}

/// Runs the whole search; returns its number of classes.
fn dine(philosophers: usize) -> u64 {
    let check = Checker::new().strategy(Strategy::Exhaustive);
    let report = check.run(|| raddle_tests::programs::dining(philosophers));
    report.assert_ok();
    report.classes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_the_child_is_understood() {
        let log = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(log), Some(123_456));
        assert_eq!(collected("==7== error calling PR_SET_PTRACER"), None);
        let work = parse("20000 9873\n").unwrap();
        assert_eq!((work.units, work.switches), (20_000, 9_873));
    }

    #[test]
    fn work_is_counted() {
        let points = WorkloadKind::Points(2, Memory::Sc).run(1);
        assert_eq!(points.units, 10_000);
        assert!((3_000..7_000).contains(&points.switches));
        assert_eq!(
            WorkloadKind::Dining(3).run(2).units,
            2 * WorkloadKind::Dining(3).run(1).units
        );
    }
}
