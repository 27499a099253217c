//! The speed of raddle, next to other checkers, measured in the same process.
//!
//! Every number next to a peer's number was measured in alternation with it, so that other load of
//! the machine affects both. Rates are per second of processor time.

mod all;
mod arguments;
mod bugs;
mod collections;
mod coverage;
mod estimate;
mod exhaust;
mod instructions;
mod limits;
mod lock_free;
mod measure;
mod memory;
mod minimise;
mod native;
mod point;
mod polling;
mod programs;
mod races;
mod regression;
mod samplers;
mod scale;
mod speed;
mod study;

use std::process::ExitCode;

use arguments::Command;

/// Exit code: a measurement failed.
const INCOMPLETE: u8 = 1;
/// Exit code: bad usage.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    programs::prepare();
    match arguments::parse(&words) {
        Ok(Command::Help) => print!("{}", arguments::HELP),
        Ok(Command::Speed { programs }) => speed::run(&programs),
        Ok(Command::Point) => point::run(),
        Ok(Command::Races) => races::run(),
        Ok(Command::SpeedOfCoverage) => coverage::speed(),
        Ok(Command::Coverage { executions }) => coverage::run(executions),
        Ok(Command::Scale) => {
            scale::random();
            scale::many();
        }
        Ok(Command::ScaleStores) => scale::stores(),
        Ok(Command::ScaleSeqCst) => scale::seq_cst(),
        Ok(Command::ScaleExhaustive) => scale::exhaustive(),
        Ok(Command::Exhaust { programs, cut }) => exhaust::run(&programs, cut),
        Ok(Command::Dining { philosophers }) => exhaust::dining(philosophers),
        Ok(Command::Estimate { executions, seed }) => estimate::run(executions, seed),
        Ok(Command::Samplers { each }) => samplers::run(each),
        Ok(Command::Memory {
            programs,
            executions,
        }) => memory::run(&programs, executions),
        Ok(Command::Bugs(options)) => bugs::run(&options),
        Ok(Command::Limits { words }) => {
            if !limits::run(&words) {
                return ExitCode::from(INCOMPLETE);
            }
        }
        Ok(Command::LimitsOf { program }) => {
            if !limits::run_here(&program) {
                eprintln!("error: there is no program `{program}`");
                return ExitCode::from(USAGE);
            }
        }
        Ok(Command::Regression(options)) => regression::run(&options),
        Ok(Command::Study(options)) => study::run(&options),
        Ok(Command::Native { prototype }) => native::run(prototype.as_deref()),
        Ok(Command::Instructions) => {
            if !instructions::run() {
                return ExitCode::from(INCOMPLETE);
            }
        }
        Ok(Command::Polling) => {
            if !polling::run() {
                return ExitCode::from(INCOMPLETE);
            }
        }
        Ok(Command::InstructionsOf { workload, amount }) => {
            instructions::run_here(workload, amount);
        }
        Ok(Command::Minimise { stories }) => minimise::run(&stories),
        Ok(Command::All { markdown }) => {
            if !all::run(markdown) {
                return ExitCode::from(INCOMPLETE);
            }
        }
        Err(problem) => {
            eprintln!("error: {problem}; try --help");
            return ExitCode::from(USAGE);
        }
    }
    ExitCode::SUCCESS
}
