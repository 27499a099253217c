//! `cargo raddle completions`: prints shell completions.

use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::arguments::subcommands::CompletionsArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;

pub fn run(arguments: &CompletionsArguments) -> Result<Verdict, Error> {
    let mut command = Arguments::command();
    let mut output = std::io::stdout();
    clap_complete::generate(arguments.shell, &mut command, "cargo-raddle", &mut output);
    Ok(Verdict::Passed)
}
