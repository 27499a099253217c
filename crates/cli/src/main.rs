//! `cargo raddle`: runs and replays tests that raddle checks.
//!
//! The command turns its flags into the environment variables that raddle reads, builds the tests with cargo,
//! runs them and reports the results. It exits with 0 if all tests passed, 1 if a failure was found, 2 for
//! wrong usage and errors, 130 if it was interrupted.
//!
//! The folders are layers, and each uses only those after it: `commands`, `output`, `run`, `toolchain`,
//! `arguments`.

mod arguments;
mod commands;
mod output;
mod own_sync;
mod run;
mod toolchain;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

/// Exit code for wrong usage, which clap uses too, and errors.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = arguments::without_subcommand_name(std::env::args_os());
    match commands::execute(Arguments::parse_from(arguments).command) {
        Ok(verdict) => verdict.exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(ERROR)
        }
    }
}
