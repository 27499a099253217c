//! The commands, one module each.

mod compile;
mod completions;
mod coverage;
mod error;
mod manual;
mod native_process;
mod near_names;
mod replay;
mod report;
mod run;
mod setup;
mod test;
mod verdict;

use crate::arguments::Command;
use crate::toolchain::c_compiler::Language;
use crate::toolchain::cargo::Cargo;
use error::Error;
use verdict::Verdict;

/// Runs a command to its end.
pub fn execute(command: Command) -> Result<Verdict, Error> {
    let cargo = Cargo::from_environment();
    match command {
        Command::Test(arguments) => test::run(&cargo, &arguments),
        Command::Replay(arguments) => replay::run(&cargo, arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&cargo, arguments),
        Command::Run(arguments) => run::run(&cargo, arguments),
        Command::Cc(arguments) => compile::run(Language::C, &arguments),
        Command::Cxx(arguments) => compile::run(Language::Cxx, &arguments),
        Command::Setup(arguments) => setup::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
    }
}
