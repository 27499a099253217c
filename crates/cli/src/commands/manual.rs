//! `cargo raddle manual`: pages for `man`, one for each command.

use std::fs;

use clap::CommandFactory;

use crate::arguments::{Arguments, ManualArguments};
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;

/// Writes them.
pub fn run(options: ManualArguments) -> Result<Verdict, Error> {
    let folder = options.folder;
    // The name of the file, and what `man` is asked for, has no space in it.
    let command = Arguments::command().bin_name("cargo-raddle");
    fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(command, &folder))
        .map_err(|cause| Error::CannotWrite {
            path: folder.clone(),
            cause,
        })?;
    println!("{}", folder.join("cargo-raddle.1").display());
    Ok(Verdict::Passed)
}
