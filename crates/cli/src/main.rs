//! `cargo raddle`: runs and replays tests that raddle checks.
//!
//! The command adds nothing to the tests themselves. It turns its flags into the environment
//! variables that raddle reads, has cargo build the tests, runs them, and says by its exit code what
//! came of it: 0 all passed, 1 findings, 2 bad usage or an error that is not a test's, 130 interrupted.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::toolchain::cargo::{Cargo, Verdict};

mod arguments;
mod commands;
mod output;
mod own_sync;
mod run;
mod toolchain;

const FINDINGS: u8 = 1;
const ERROR: u8 = 2;
/// What shells report of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let arguments =
        Arguments::parse_from(arguments::without_name_of_subcommand(std::env::args_os()));
    let cargo = Cargo::from_environment();
    let verdict = match arguments.command {
        Command::Test(options) => commands::test::run(&cargo, options),
        Command::Replay(options) => commands::replay::run(&cargo, options),
        Command::Report(options) => commands::report::run(&options),
        Command::Coverage(options) => commands::coverage::run(&cargo, options),
        Command::Run(options) => commands::run::run(&cargo, options),
        Command::Cc(options) => toolchain::c_compiler::cc(options),
        Command::Cxx(options) => toolchain::c_compiler::cxx(options),
        Command::Setup(options) => commands::run::set_up(&options),
        Command::Completions(options) => commands::completions::run(options),
        Command::Manual(options) => commands::manual::run(options),
    };
    match verdict {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Findings) => ExitCode::from(FINDINGS),
        Ok(Verdict::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(ERROR)
        }
    }
}
