//! The commands, one module each.

mod alternatives;
mod compile;
mod completions;
mod coverage;
mod error;
mod manual;
mod mutants;
mod native_process;
mod near_names;
mod orderings;
mod queue;
mod replay;
mod report;
mod run;
mod setup;
mod test;
mod verdict;
mod work;

use crate::arguments::Command;
use crate::arguments::selection::BuildArguments;
use crate::toolchain::c_compiler::Language;
use crate::toolchain::cargo::{Cargo, CargoFiles};
use error::Error;
use verdict::Verdict;

/// Runs a command to its end.
pub fn execute(command: Command) -> Result<Verdict, Error> {
    let cargo = Cargo::from_environment();
    match command {
        Command::Test(arguments) => {
            test::run(&cargo.with_files(files(&arguments.cargo.build)), &arguments)
        }
        Command::Replay(arguments) => {
            replay::run(&cargo.with_files(files(&arguments.cargo.build)), arguments)
        }
        Command::Alternatives(arguments) => {
            alternatives::run(&cargo.with_files(files(&arguments.cargo.build)), arguments)
        }
        Command::Report(arguments) => report::run(&arguments),
        Command::Mutants(arguments) => {
            let files = files(&arguments.tests.cargo.build);
            mutants::run(&cargo.with_files(files), &arguments)
        }
        Command::Orderings(arguments) => {
            let files = files(&arguments.tests.cargo.build);
            orderings::run(&cargo.with_files(files), &arguments)
        }
        Command::Coverage(arguments) => coverage::run(&cargo, arguments),
        Command::Work(arguments) => {
            let files = files(&arguments.cargo.build);
            work::run(&cargo.with_files(files), &arguments)
        }
        Command::Queue(arguments) => queue::run(&arguments),
        Command::Run(arguments) => {
            let files = files(&arguments.selection.build);
            run::run(&cargo.with_files(files), arguments)
        }
        Command::Cc(arguments) => compile::run(Language::C, &arguments),
        Command::Cxx(arguments) => compile::run(Language::Cxx, &arguments),
        Command::Setup(arguments) => setup::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
    }
}

/// The files that the flags name.
fn files(arguments: &BuildArguments) -> CargoFiles {
    CargoFiles {
        manifest: arguments.manifest_path.clone(),
        target: arguments.target_dir.clone(),
    }
}
