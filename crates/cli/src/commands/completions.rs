//! `cargo raddle completions`: what a shell needs to complete commands.

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;

/// Prints them.
pub fn run(options: CompletionsArguments) -> Result<Verdict, Error> {
    let mut command = Arguments::command();
    let mut output = std::io::stdout();
    clap_complete::generate(options.shell, &mut command, "cargo-raddle", &mut output);
    Ok(Verdict::Passed)
}
