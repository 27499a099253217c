//! Instructions per execution, scheduling point and class, counted by valgrind's callgrind.
//!
//! Time depends on the load of the machine, instruction counts do not. Every workload runs twice in a
//! child process, this program again under valgrind, with a small and a large amount of work. The
//! difference of the two counts, divided by the difference in work, leaves out what it costs to start
//! the process and the check.

use std::sync::Arc;

use raddle::{Checker, Memory, Strategy};

use crate::point::{Switches, accesses};
use crate::polling::Waiting;
use crate::programs::{Program, raddle as ours};

/// A program and a strategy, run for an amount of work.
#[derive(Debug, PartialEq)]
pub(crate) struct Workload {
    /// Name on the command line of the child process and in the output.
    pub(crate) name: &'static str,
    /// Small and large amount, in executions, scheduling points or whole searches.
    pub(crate) amounts: [u64; 2],
    pub(crate) kind: WorkloadKind,
}

#[derive(Debug, PartialEq)]
pub(crate) enum WorkloadKind {
    Random(Program),
    /// Scheduling points of this many threads.
    Points(u64, Memory),
    Exhaustive(Program),
    /// Exhaustive search of this many philosophers in a monitor.
    Dining(usize),
    /// Exhaustive search of a program with a loop that waits, in this size.
    Waiting(Waiting, u64),
}

/// Points of one thread stand directly before those of two threads: the cost of a switch is computed
/// from both.
pub(crate) static WORKLOADS: [Workload; 7] = [
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
    /// Executions, points, classes or runs.
    units: u64,
    /// Switches of threads, or classes, where they are counted.
    details: u64,
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
            WorkloadKind::Exhaustive(_) | WorkloadKind::Dining(_) | WorkloadKind::Waiting(..) => {
                println!("per_class={cost:.0}")
            }
        }
    }
    true
}

/// Instructions per unit, and switches or classes per unit.
pub(crate) fn measure(workload: &Workload) -> Result<(f64, f64), String> {
    let [small, large] = workload.amounts;
    let (instructions, work) = count(workload, small)?;
    let (more_instructions, more_work) = count(workload, large)?;
    let units = (more_work.units - work.units) as f64;
    let details = more_work.details as f64 - work.details as f64;
    let instructions = more_instructions as f64 - instructions as f64;
    Ok((instructions / units, details / units))
}

/// Runs the workload in a child process, this program again; returns the instructions of that process.
fn count(workload: &Workload, amount: u64) -> Result<(u64, Work), String> {
    let arguments = ["instructions", workload.name, &amount.to_string()];
    let (instructions, printed) = raddle_gate::count(&arguments)?;
    let work = parse(&printed);
    let work = work.ok_or_else(|| format!("{} did not say its work:\n{printed}", workload.name));
    Ok((instructions, work?))
}

/// Parses the output of [`run_here`], which comes after the results of the checks.
fn parse(output: &str) -> Option<Work> {
    let (units, details) = output.lines().last()?.split_once(' ')?;
    Some(Work {
        units: units.parse().ok()?,
        details: details.parse().ok()?,
    })
}

/// Does the work in this process, which is the child process, and prints its amount.
pub(crate) fn run_here(workload: &Workload, amount: u64) {
    let Work { units, details } = workload.kind.run(amount);
    println!("{units} {details}");
}

impl WorkloadKind {
    fn run(&self, amount: u64) -> Work {
        let switches = Arc::new(Switches::default());
        let units = match *self {
            WorkloadKind::Random(program) => ours::random(program)(amount),
            WorkloadKind::Points(threads, memory) => accesses(threads, memory, &switches)(amount),
            WorkloadKind::Exhaustive(program) => (0..amount).map(|_| ours::exhaust(program)).sum(),
            WorkloadKind::Dining(philosophers) => (0..amount).map(|_| dine(philosophers)).sum(),
            WorkloadKind::Waiting(program, size) => {
                let searches = (0..amount).map(|_| program.search(size));
                let (units, details) =
                    searches.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
                return Work { units, details };
            }
        };
        Work {
            units,
            details: switches.count(),
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
        let work = parse("raddle: every behaviour was run: 2 classes\n20000 9873\n").unwrap();
        assert_eq!((work.units, work.details), (20_000, 9_873));
    }

    #[test]
    fn work_is_counted() {
        let points = WorkloadKind::Points(2, Memory::Sc).run(1);
        assert_eq!(points.units, 10_000);
        assert!((3_000..7_000).contains(&points.details));
        assert_eq!(
            WorkloadKind::Dining(3).run(2).units,
            2 * WorkloadKind::Dining(3).run(1).units
        );
    }
}
