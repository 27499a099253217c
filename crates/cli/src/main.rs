//! `cargo raddle`: runs and replays tests that raddle checks.
//!
//! The command turns its flags into the environment variables that raddle reads, builds the tests with cargo,
//! runs them and reports the results. It exits with 0 if all tests passed, 1 if a failure was found, 2 for
//! wrong usage and errors, 130 if it was interrupted.
//!
//! The folders are layers, and each uses only those after it: `commands`, `arguments`, `output`, `run`,
//! `source`, `toolchain`.

mod arguments;
mod commands;
mod output;
mod own_sync;
mod run;
mod source;
mod toolchain;

use std::process::ExitCode;

/// Exit code for wrong usage, which clap uses too, and errors.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = arguments::parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match commands::execute(arguments.command) {
        Ok(verdict) => verdict.exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(ERROR)
        }
    }
}
