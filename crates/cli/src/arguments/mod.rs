//! Command-line arguments and help texts. No code here depends on the commands.

mod help;
pub mod selection;
pub mod settings;
pub mod subcommands;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, Parser, Subcommand};

use subcommands::{
    AlternativesArguments, CompilerArguments, CompletionsArguments, CoverageArguments,
    ManualArguments, MutantsArguments, OrderingsArguments, QueueArguments, ReplayArguments,
    ReportArguments, RunArguments, SetupArguments, TestArguments, WorkArguments,
};

/// Check concurrent code under many schedules.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-raddle",
    bin_name = "cargo raddle",
    version,
    after_help = help::EXIT_CODES,
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build and run the tests that use raddle, with the given strategy and limits.
    #[command(after_help = help::test())]
    Test(TestArguments),
    /// Replay one test on one schedule and print the execution.
    #[command(after_help = help::with_exit_codes(help::REPLAY))]
    Replay(ReplayArguments),
    /// List the sources that the receives of one execution of a test could have had.
    #[command(after_help = help::with_exit_codes(help::ALTERNATIVES))]
    Alternatives(AlternativesArguments),
    /// Rebuild the HTML report of a run from its data and open the index.
    #[command(after_help = help::with_exit_codes(help::REPORT))]
    Report(ReportArguments),
    /// Change operations one by one and tell which changes the tests notice.
    #[command(after_help = help::MUTANTS)]
    Mutants(MutantsArguments),
    /// Find the weakest memory orderings under which the tests still pass, as a patch.
    #[command(after_help = help::ORDERINGS)]
    Orderings(OrderingsArguments),
    /// Show recorded coverage and executions of tests with `remember = true`.
    #[command(after_help = help::with_exit_codes(help::COVERAGE))]
    Coverage(CoverageArguments),
    /// Explore parts of the searches of `cargo raddle test --queue`, on any machine with the same build.
    #[command(after_help = help::with_exit_codes(help::WORK))]
    Work(WorkArguments),
    /// Show or remove the run of a queue.
    #[command(after_help = help::with_exit_codes(help::QUEUE))]
    Queue(QueueArguments),
    /// Check `main` of an unmodified program in C, C++ or Rust.
    #[command(after_help = help::run())]
    Run(RunArguments),
    /// Compile C for `cargo raddle run` and `raddle_check`.
    #[command(after_help = help::with_exit_codes(help::COMPILER))]
    Cc(CompilerArguments),
    /// Compile C++ for `cargo raddle run` and `raddle_check`.
    #[command(name = "c++", after_help = help::with_exit_codes(help::COMPILER))]
    Cxx(CompilerArguments),
    /// Build the runtime library for native programs and install it next to this executable.
    #[command(after_help = help::with_exit_codes(help::SETUP))]
    Setup(SetupArguments),
    /// Print shell completions.
    #[command(after_help = help::with_exit_codes(help::COMPLETIONS))]
    Completions(CompletionsArguments),
    /// Write a manual page for each command.
    #[command(after_help = help::with_exit_codes(help::MANUAL))]
    Manual(ManualArguments),
}

/// Parses the arguments of the process. Wrong usage is an error with what to do.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, Error> {
    let words: Vec<OsString> = without_subcommand_name(arguments).collect();
    let is_run = words.get(1).is_some_and(|command| command == "run");
    Arguments::try_parse_from(words).map_err(|mut error| {
        let word = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) if !word.starts_with('-') => Some(word.clone()),
            _ => None,
        };
        if let Some(word) = word.filter(|_| is_run && error.kind() == ErrorKind::UnknownArgument) {
            let tip = format!("a program comes after two dashes: `cargo raddle run -- {word}`");
            let tip = ContextValue::StyledStrs(vec![tip.into()]);
            error.insert(ContextKind::Suggested, tip);
        }
        error
    })
}

/// Removes the first argument `raddle`, which cargo adds when it runs `cargo raddle`.
fn without_subcommand_name(
    arguments: impl IntoIterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next();
    let mut rest = arguments.peekable();
    rest.next_if(|first| first == "raddle");
    program.into_iter().chain(rest)
}
