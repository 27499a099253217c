//! `cargo raddle manual`: writes a page for `man` for each command.

use std::fs;

use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::arguments::subcommands::ManualArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::output;

pub fn run(arguments: &ManualArguments) -> Result<Verdict, Error> {
    let directory = &arguments.directory;
    // The names of the pages, and the arguments of `man`, have a hyphen instead of the space.
    let command = Arguments::command().bin_name("cargo-raddle");
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .map_err(output::error::Error::cannot_write(directory))?;
    println!("{}", directory.join("cargo-raddle.1").display());
    Ok(Verdict::Passed)
}
