//! Executions per second: raddle's random strategy, shuttle's random scheduler, loom's search.

use crate::measure::{geometric_mean, take_turns};
use crate::programs::{Program, loom, raddle, shuttle};

const ROUNDS: usize = 9;

/// The default programs.
pub(crate) const PROGRAMS: [Program; 7] = [
    Program::mutex(2, 1),
    Program::mutex(3, 2),
    Program::racy(2, 1),
    Program::racy(2, 2),
    Program::racy(3, 2),
    Program::TwoLocks,
    Program::locks(10, 10),
];

/// Prints a line for each program, then the means.
pub(crate) fn run(programs: &[Program]) {
    let mut times_shuttle = Vec::new();
    let mut times_loom = Vec::new();
    for &program in programs {
        let mut batches = vec![raddle::random(program), shuttle::random(program)];
        if loom::can_run(program) {
            batches.push(loom::search(program));
        }
        let rates = take_turns(ROUNDS, batches);
        let (raddle, shuttle, loom) = (rates[0], rates[1], rates.get(2).copied());
        times_shuttle.push(raddle / shuttle);
        times_loom.extend(loom.map(|loom| raddle / loom));
        println!(
            "speed {program} raddle={raddle:.0} shuttle={shuttle:.0} loom={} x_shuttle={:.1} \
             x_loom={}",
            loom.map_or("-".to_owned(), |loom| format!("{loom:.0}")),
            raddle / shuttle,
            loom.map_or("-".to_owned(), |loom| format!("{:.1}", raddle / loom)),
        );
    }
    let mean = |ratios: &[f64]| match ratios {
        [] => "-".to_owned(),
        ratios => format!("{:.1}", geometric_mean(ratios)),
    };
    println!(
        "speed mean x_shuttle={} x_loom={}",
        mean(&times_shuttle),
        mean(&times_loom)
    );
}
